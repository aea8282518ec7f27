//! `demo-shop`: the demo shop as a program of its own.

use clap::Parser;
use tests::shop::{Settings, Shop};

/// Two small shops behind one listener
#[derive(Parser)]
#[command(name = "demo-shop")]
struct Arguments {
    #[command(flatten)]
    settings: Settings,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let shop = Shop::start(Arguments::parse().settings).await?;
    println!("shop     http://{}", shop.address);
    println!("control  http://{}/control", shop.control_address);
    tokio::select! {
        () = shop.wait() => anyhow::bail!("the demo shop stopped listening"),
        stopped = tokio::signal::ctrl_c() => Ok(stopped?),
    }
}
