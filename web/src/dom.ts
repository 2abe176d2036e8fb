// Elements by hand. All text goes through textContent: names in model files are other people's.

type Attributes = Readonly<Record<string, string | number | undefined>>;
type Child = Node | string | null;

function filled<E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, String(value));
  }
  for (const child of children) if (child !== null) element.append(child);
  return element;
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return filled(document.createElement(tag), attributes, children);
}

export function s<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

export function set(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
}

/** A number as people read it: four digits, or a power of ten where it is very small or large. */
export function number(value: number, digits = 4): string {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return String(value).replace("-", "−").replace("Infinity", "∞");
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e15) return value.toLocaleString("en").replace("-", "−");
  const text = size < 1e-4 || size >= 1e6 ? power(value, Math.min(digits, 3)) : Number(value.toPrecision(Math.max(digits, Math.floor(Math.log10(size)) + 1))).toString();
  return text.replace("-", "−");
}

function power(value: number, digits: number): string {
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  const raised = [...exponent.replace("+", "")].map((sign) => "⁻0123456789⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign) + (sign === "-" ? 0 : 10)]);
  return `${mantissa}·10${raised.join("")}`;
}

/** Draws whenever the width of the place changes, in pixels: text keeps its size on a phone. */
export function drawn(place: HTMLElement, draw: (width: number) => void): void {
  let last = 0;
  const again = () => {
    const width = Math.floor(place.clientWidth);
    if (width > 0 && width !== last) {
      last = width;
      draw(width);
    }
  };
  new ResizeObserver(again).observe(place);
  again();
}

let figures = 0;

/** A section with a heading, and a figure with a numbered caption. */
export function section(id: string, title: string, caption: string, ...children: Child[]): HTMLElement {
  figures += 1;
  return h(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    h("h2", { id: `${id}-title` }, title),
    h("figure", {}, ...children, h("figcaption", {}, h("b", {}, `Figure ${figures}. `), caption)),
  );
}

export function choice(label: string, options: readonly string[], chosen: number, then: (index: number) => void): HTMLLabelElement {
  const select = h("select", {}, ...options.map((text, index) => h("option", { value: index }, text)));
  select.value = String(chosen);
  select.addEventListener("change", () => then(Number(select.value)));
  return h("label", { class: "choice" }, h("span", {}, label), select);
}

export function button(text: string, then: () => void): HTMLButtonElement {
  const made = h("button", { type: "button" }, text);
  made.addEventListener("click", then);
  return made;
}
