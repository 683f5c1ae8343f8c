//! half: the 16-bit floats as elements.

element!(half::f16 => F16);
element!(half::bf16 => BF16);
