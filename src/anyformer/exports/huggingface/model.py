"""A network as a pre-trained model: the parts are those of the PyTorch module, under the same names."""

import os
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, initialization
from transformers.modeling_outputs import BaseModelOutput
from transformers.utils.generic import can_return_tuple

from anyformer.certificates.claims.certificate import Certificate
from anyformer.errors import ModelFileError, NetworkError
from anyformer.exports.huggingface.certificate_files import add_certificate, certificate_in, still_holds
from anyformer.exports.huggingface.config import AnyformerConfig
from anyformer.exports.huggingface.inspection import inspect
from anyformer.exports.pytorch.conversion import from_torch, network_of
from anyformer.exports.pytorch.parts import add_parts, run_parts
from anyformer.exports.pytorch.stages import AttentionModule


class AnyformerModel(PreTrainedModel):
    """A network for Hugging Face's tools. It takes vectors, `inputs_embeds` (batch, tokens, width), and no ids."""

    config: AnyformerConfig
    config_class = AnyformerConfig
    main_input_name = "inputs_embeds"
    _no_split_modules: Final = ("AttentionModule", "FeedForwardModule")

    certificate: Certificate | None
    """What was claimed of the weights as they were when the model was made or loaded; training does not change it."""

    def __init__(self, config: AnyformerConfig) -> None:
        super().__init__(config)
        add_parts(self, config.structure)
        self.certificate = None
        self.post_init()

    @can_return_tuple
    def forward(
        self,
        inputs_embeds: Tensor | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        input_ids: Tensor | None = None,
    ) -> BaseModelOutput:
        """Run the network.

        Args:
            inputs_embeds: the sequences, (batch, tokens, width), of the weights' dtype.
            output_attentions: whether to return the weights of every attention layer; the configuration's if None.
            output_hidden_states: whether to return the stream before the first layer and after every layer.
            input_ids: must not be given; there is no vocabulary.

        Returns:
            `last_hidden_state` is the network's output, (batch, tokens, width); `hidden_states` are (batch, tokens,
            stream_width), before the read-out; `attentions` are (batch, heads, tokens, tokens). With return_dict=False,
            those of them that were asked for, as a tuple.
        """
        if input_ids is not None or inputs_embeds is None:
            raise NetworkError(
                "a network takes vectors and no ids; give inputs_embeds, (batch, tokens, width), and nothing else."
            )
        found = run_parts(
            self,
            inputs_embeds,
            bool(self.config.output_hidden_states if output_hidden_states is None else output_hidden_states),
            bool(self.config.output_attentions if output_attentions is None else output_attentions),
        )
        return BaseModelOutput(
            last_hidden_state=found.output, hidden_states=found.hidden_states, attentions=found.attentions
        )

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: str | os.PathLike[str], *args: Any, **kwargs: Any) -> Any:
        """Load a folder that `save_pretrained` wrote; it may come from anyone, and is inspected first.

        The certificate in it comes along as `certificate` if it speaks of these weights; otherwise there is a warning,
        and it does not. It is a claim until `verify` proves it again.

        Args:
            pretrained_model_name_or_path: the folder. A model on the hub must be downloaded first.
            args: as for any other model of `transformers`.
            kwargs: as for any other model of `transformers`.
        """
        folder = Path(pretrained_model_name_or_path, kwargs.get("subfolder") or "")
        inspect(folder)
        others = {name: value for name, value in kwargs.items() if name not in ("trust_remote_code", "use_safetensors")}
        try:
            found = super().from_pretrained(
                pretrained_model_name_or_path, *args, trust_remote_code=False, use_safetensors=True, **others
            )
            loaded = found[0] if isinstance(found, tuple) else found  # with output_loading_info
            loaded.certificate = certificate_in(folder, from_torch(loaded), loaded.structure)
        except NetworkError as error:
            raise ModelFileError(f"{folder}: {error}") from error
        return found

    def save_pretrained(
        self,
        save_directory: str | os.PathLike[str],
        is_main_process: bool = True,
        state_dict: dict[str, Tensor] | None = None,
        push_to_hub: bool = False,
        **kwargs: Any,
    ) -> None:
        """Write config.json, model.safetensors, certificate.json and a model card, README.md.

        A certificate that does not hold for the weights any more is left out, with a warning.

        Args:
            save_directory: where to; created if it is not there.
            is_main_process: as for any other model of `transformers`.
            state_dict: other weights than the model's own.
            push_to_hub: must be false: what is uploaded so would lack the certificate and the card.
            kwargs: as for any other model of `transformers`.
        """
        if push_to_hub:
            raise ModelFileError(
                "push_to_hub would upload the model without its certificate and its card. Save it to a folder, and "
                "upload that: hf upload NAME FOLDER."
            )
        network = network_of(self.structure, dict(self.named_parameters()) if state_dict is None else state_dict)
        certificate = still_holds(self.certificate, network)
        super().save_pretrained(save_directory, is_main_process=is_main_process, state_dict=state_dict, **kwargs)
        if is_main_process:
            add_certificate(Path(save_directory), network, certificate)

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Biases of 0; weights that keep the size of what they are given, on average."""
        if isinstance(module, AttentionModule):
            module.reset_masks()
        for name, parameter in module.named_parameters(recurse=False):
            if name.startswith("b_"):
                initialization.zeros_(parameter)
            else:
                initialization.normal_(parameter, std=parameter.shape[-1] ** -0.5)
