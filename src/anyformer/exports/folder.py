"""placeholder"""

from pathlib import Path
from anyformer.certificates.certificate import Certificate
from anyformer.networks.network import Network


def save_folder(folder: Path, network: Network, certificate: Certificate, overwrite: bool = False) -> Path:
    """Save."""
    raise NotImplementedError


def load_folder(folder: Path) -> tuple[Network, Certificate]:
    """Load."""
    raise NotImplementedError
