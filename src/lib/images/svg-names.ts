// What of SVG 2 stays in an image: what draws. What runs, loads, links or embeds is not among it.

const words = (text: string) => new Set(text.trim().split(/\s+/));

export const svgElements: ReadonlySet<string> = words(`
  svg g defs symbol use title desc style switch a
  path rect circle ellipse line polyline polygon text tspan
  linearGradient radialGradient stop pattern clipPath mask marker
  filter feBlend feColorMatrix feComponentTransfer feComposite feDropShadow feFlood feFuncA feFuncB feFuncG feFuncR feGaussianBlur feMerge
  feMergeNode feMorphology feOffset`);

export const svgAttributes: ReadonlySet<string> = words(`
  id class style transform transform-origin lang role aria-label aria-labelledby aria-hidden focusable version
  x y x1 y1 x2 y2 dx dy cx cy r rx ry fx fy fr d points width height viewBox preserveAspectRatio pathLength rotate textLength lengthAdjust
  gradientUnits gradientTransform spreadMethod offset patternUnits patternContentUnits patternTransform
  clipPathUnits maskUnits maskContentUnits filterUnits primitiveUnits markerUnits markerWidth markerHeight refX refY orient
  in in2 result type values mode operator stdDeviation radius k1 k2 k3 k4 tableValues slope intercept amplitude exponent flood-color flood-opacity
  fill fill-opacity fill-rule stroke stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit stroke-opacity
  stroke-width opacity color display visibility overflow clip-path clip-rule mask mask-type filter marker-start marker-mid marker-end
  stop-color stop-opacity font-family font-size font-size-adjust font-stretch font-style font-variant font-weight text-anchor text-decoration
  letter-spacing word-spacing dominant-baseline alignment-baseline baseline-shift direction unicode-bidi writing-mode vector-effect paint-order
  shape-rendering text-rendering image-rendering color-rendering color-interpolation color-interpolation-filters mix-blend-mode isolation`);

/** Which elements may point at another one of the same image. */
export const svgReferring: ReadonlySet<string> = words('use linearGradient radialGradient pattern');

/** Whose text is kept. */
export const svgTexts: ReadonlySet<string> = words('text tspan title desc style a switch');

/** What is drawn by being pointed at costs nothing more than once. */
export const svgPaints: ReadonlySet<string> = words('linearGradient radialGradient filter');
