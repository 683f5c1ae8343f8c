//! Code that did not work with other attribute macros, according to reports. The numbers are issues of
//! tokio-rs/tracing.

use crate::support::{Tensor, block_on, recorded, tensor};
use trace_runtime::traced_op;

// #1053: a closure coerced to a boxed trait object inside `Ok`.
type Callback = Box<dyn FnOnce() -> usize + Send + Sync>;

#[traced_op]
async fn coerced_in_ok() -> Result<Callback, std::io::Error> {
    Ok(Box::new(|| 3))
}

#[traced_op]
fn coerced_after_return(early: bool) -> Result<Callback, std::io::Error> {
    if early {
        return Ok(Box::new(|| 1));
    }
    Ok(Box::new(|| 2))
}

// #1818: the runtime under another path.
mod reexported {
    #[allow(unused_imports, reason = "only expanded code names it")]
    pub use trace_runtime as tracer;
}

#[traced_op(crate = crate::complaints::reexported::tracer)]
fn another_path(x: &Tensor) -> usize {
    x.dims.len()
}

// #2717: a parameter reassigned with a borrow of a local.
#[traced_op]
async fn reassigned(mut x: &str) -> usize {
    let local = String::from("longer");
    if x.len() < local.len() {
        x = &local;
    }
    x.len()
}

#[traced_op]
fn reassigned_after_return<'a>(mut x: &'a Tensor, (mut n, y): (usize, &'a Tensor)) -> usize {
    if x.dims.is_empty() {
        return 0;
    }
    x = y;
    n += x.dims.len();
    n
}

// #2796: a borrow of a parameter in an `Ok`.
struct Node(Tensor);
struct View<'a>(&'a Node);

#[traced_op]
fn borrow_in_ok(node: &Node) -> Result<Option<View<'_>>, std::io::Error> {
    let view = View(node);
    Ok(Some(view))
}

#[traced_op]
fn shared_from_mut(x: &mut u8) -> Result<&u8, &u8> {
    Ok(x)
}

#[traced_op]
fn shared_from_mut_after_return(x: &mut Tensor) -> &Tensor {
    if x.dims.is_empty() {
        return x;
    }
    x
}

// #3306: the body imports names that the signature uses.
type Shadowed = ();

#[allow(dead_code)]
enum Names {
    Shadowed,
    Tensor,
}

#[traced_op]
#[allow(unused_imports)]
fn shadows_its_return_type() -> Shadowed {
    use Names::*;
}

#[traced_op]
#[allow(unused_imports)]
async fn shadows_its_return_type_later() -> Tensor {
    use Names::Tensor;
    tensor([1])
}

// #3119: a user module with the name of the runtime.
mod shadowing {
    #[allow(dead_code)]
    mod trace_runtime {}

    use ::trace_runtime::traced_op;

    #[traced_op]
    pub fn beside_a_namesake(x: &[f32]) -> usize {
        x.len()
    }
}

// #3110: precise captures.
#[traced_op]
fn precise<'a>(x: &'a Tensor) -> impl Iterator<Item = usize> + use<'a> {
    x.dims.iter().copied()
}

// #1407: a parameter without a name.
#[traced_op]
fn without_a_name(x: &Tensor, _: std::net::Ipv4Addr) -> usize {
    x.dims.len()
}

// #1939: methods of one trait are distinguished by their types, without a `name` option.
trait Pool {
    fn pool(&self, x: &Tensor) -> usize;
    fn later(&self) -> impl Future<Output = usize>;
}

struct Max;
struct Mean<T>(T);

impl Pool for Max {
    #[traced_op]
    fn pool(&self, x: &Tensor) -> usize {
        x.dims.len()
    }

    #[traced_op]
    async fn later(&self) -> usize {
        1
    }
}

impl<T> Pool for Mean<T> {
    #[traced_op]
    fn pool(&self, x: &Tensor) -> usize {
        x.dims.len()
    }

    #[traced_op]
    async fn later(&self) -> usize {
        2
    }
}

// #2852: a whole `impl` at once.
struct Norm(usize);

#[traced_op]
impl Norm {
    fn shift(&self, x: &Tensor) -> usize {
        self.scale(x) + self.0
    }

    fn scale(&self, x: &Tensor) -> usize {
        x.dims.len() * self.0
    }
}

#[test]
fn none_of_these_problems_occurs_here() {
    let mut t = tensor([2]);
    recorded(&["coerced_in_ok()"], || {
        block_on(coerced_in_ok()).unwrap()()
    });
    recorded(&["coerced_after_return()"], || {
        coerced_after_return(true).unwrap()()
    });
    recorded(&["another_path(bf16[2]) @cuda:0"], || another_path(&t));
    assert_eq!(
        recorded(&["reassigned()"], || block_on(reassigned("short"))),
        6
    );
    let lines = ["reassigned_after_return(bf16[2], bf16[2]) @cuda:0"];
    let n = recorded(&lines, || reassigned_after_return(&t, (1, &t)));
    assert_eq!(n, 2);
    let node = Node(t.clone());
    recorded(&["borrow_in_ok()"], || {
        borrow_in_ok(&node).unwrap().unwrap().0.0.clone()
    });
    recorded(&["shared_from_mut()"], || shared_from_mut(&mut 1).is_ok());
    let lines = ["shared_from_mut_after_return(bf16[2]) -> bf16[2] @cuda:0"];
    recorded(&lines, || shared_from_mut_after_return(&mut t).clone());
    recorded(&["shadows_its_return_type()"], shadows_its_return_type);
    let lines = ["shadows_its_return_type_later() -> bf16[1] @cuda:0"];
    recorded(&lines, || block_on(shadows_its_return_type_later()));
    recorded(&["beside_a_namesake(f32[1]) @cpu"], || {
        shadowing::beside_a_namesake(&[1.0])
    });
    recorded(&["precise(bf16[2]) @cuda:0"], || precise(&t).count());
    let address = std::net::Ipv4Addr::LOCALHOST;
    recorded(&["without_a_name(bf16[2]) @cuda:0"], || {
        without_a_name(&t, address)
    });
    recorded(&["Max::pool(bf16[2]) @cuda:0"], || Max.pool(&t));
    recorded(&["Mean::pool(bf16[2]) @cuda:0"], || Mean(1).pool(&t));
    recorded(&["Max::later()", "Mean::later()"], || {
        block_on(Max.later()) + block_on(Mean("x").later())
    });
    let lines = [
        "Norm::shift(bf16[2]) @cuda:0",
        "  Norm::scale(bf16[2]) @cuda:0",
    ];
    recorded(&lines, || Norm(3).shift(&t));
}
