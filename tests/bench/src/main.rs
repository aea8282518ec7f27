//! Figures of the limiters in this process, as one JSON object a line. `cargo xtask bench limits` builds and reads it.

#![cfg_attr(target_family = "wasm", no_main)]

#[cfg(not(target_family = "wasm"))]
mod figure;
#[cfg(not(target_family = "wasm"))]
mod flood;
#[cfg(not(target_family = "wasm"))]
mod keyed;
#[cfg(not(target_family = "wasm"))]
mod layers;
#[cfg(not(target_family = "wasm"))]
mod on_redis;

#[cfg(not(target_family = "wasm"))]
fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (part, count) = (arguments.next().unwrap_or_default(), arguments.next());
    let rounds: usize = count.map_or(Ok(15), |count| count.parse())?;
    match part.as_str() {
        "keyed" => keyed::figures(rounds)?.iter().try_for_each(figure::Figure::print),
        "layers" => layers::figure(rounds)?.print(),
        "flood" => flood::figures(rounds)?.iter().try_for_each(figure::Figure::print),
        "memory" => flood::memory()?.print(),
        "redis" => {
            let url = arguments.next().unwrap_or_default();
            on_redis::figures(rounds, &url)?.iter().try_for_each(figure::Figure::print)
        }
        "gcra-loop" => figure::print_loop_ns(rounds),
        _ => anyhow::bail!(
            "say keyed, layers, flood, memory, gcra-loop or redis, how many rounds, and where Redis is"
        ),
    }
}
