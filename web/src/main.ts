import type { PageData } from "./data";
import { Network } from "./network";
import { Program } from "./program";

const data = JSON.parse(document.getElementById("data")?.textContent ?? "") as PageData;
const network = new Network(data.network);
const target = data.target ? new Program(data.target, network.tokens, network.width) : null;
Object.assign(window, {
  anyformer: {
    evaluate: (inputs: number[][]) => inputs.map((one) => Array.from(network.evaluate(one))),
    target: (inputs: number[][]) => (target ? inputs.map((one) => Array.from(target.outputs(one))) : null),
  },
});
