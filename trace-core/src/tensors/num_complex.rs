//! num-complex: complex numbers of either precision as elements.

use num_complex::Complex;

element!(Complex<f32> => C64);
element!(Complex<f64> => C128);
