//! Where the parts listen and keep their data: the configuration file's word, unless the command line says otherwise.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;

use ::tests::stack::config::{Addresses, DemoConfig};
use anyhow::{Context, Result, bail};
use shared::config::{Config, WebOrigin};

use crate::workspace;

/// Start a demo shop, the queue server and the edge, and stop them with Ctrl-C
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Port of the edge, which buyers see [default: the one of `site.public_url`]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Port of the queue server [default: the one of `server.listen`]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    server_port: Option<u16>,
    /// Port of the demo shop; the next one is its control [default: the one of the first shop's `origin`]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..65_535))]
    shop_port: Option<u16>,
    /// Most buyers inside at once, in every event: with 2, the third one sees the line [default: each event's `capacity`]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    capacity: Option<u32>,
    /// Where secrets, the store and logs are kept [default: .fairgate in the repository]
    #[arg(long)]
    data_dir: Option<PathBuf>,
    /// The configuration [default: tests/demo/fairgate.toml]
    #[arg(long)]
    config: Option<PathBuf>,
}

/// What to start where.
pub(crate) struct Layout {
    pub(super) edge: SocketAddr,
    pub(super) queue_server: SocketAddr,
    /// `None`: the shop is a real one, on another machine.
    pub(super) shop: Option<ShopAddresses>,
    pub(super) data_dir: PathBuf,
    /// The text of the configuration as it is used.
    pub(super) config: String,
    pub(super) prefix: String,
    shop_hosts: Vec<String>,
}

#[derive(Clone, Copy)]
pub(super) struct ShopAddresses {
    pub(super) pages: SocketAddr,
    pub(super) control: SocketAddr,
}

impl Layout {
    /// Reads the configuration and moves it to the ports that were asked for.
    pub(crate) fn read(options: &Options) -> Result<Self> {
        let root = workspace::root();
        let file = options.config.clone().unwrap_or_else(|| root.join("tests/demo/fairgate.toml"));
        let name = file.display().to_string();
        let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {name}"))?;
        let written = parse(&name, &text)?;
        let config = if options.moves_something() { moved(&text, &written, options)? } else { text };
        let parsed = parse(&name, &config)?;
        let shop = parsed.shops.first().context("the configuration names no shop")?;
        Ok(Self {
            edge: local(port_of(&parsed.site.public_url)),
            queue_server: parsed.server.listen,
            shop: shop.origin.is_loopback().then(|| ShopAddresses::from(port_of(&shop.origin))),
            data_dir: options.data_dir.clone().unwrap_or_else(|| root.join(".fairgate")),
            config,
            prefix: parsed.site.prefix,
            shop_hosts: parsed.shops.iter().filter_map(|shop| shop.hosts.first().cloned()).collect(),
        })
    }

    /// Fails when another program has one of the ports, before anything is built or started.
    pub(crate) fn check_ports(&self) -> Result<()> {
        let shop = self.shop.iter().flat_map(|shop| [shop.pages, shop.control]);
        let mut parts =
            vec![("the edge", "--port", self.edge), ("the queue server", "--server-port", self.queue_server)];
        parts.extend(shop.map(|address| ("the demo shop", "--shop-port", address)));
        for (nth, (what, option, address)) in parts.iter().enumerate() {
            let port = address.port();
            if let Some((other, other_option, _)) = parts[..nth].iter().find(|part| part.2.port() == port) {
                bail!(
                    "port {port} is meant for {other} and for {what}: move one of them with {other_option} or {option}"
                );
            }
            check_port(what, option, *address)?;
        }
        Ok(())
    }

    /// Writes the configuration as it is used beside the data, for the queue server to read.
    pub(super) fn write_config(&self) -> Result<PathBuf> {
        let path = self.data_dir.join("fairgate.toml");
        std::fs::write(&path, &self.config).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for host in &self.shop_hosts {
            writeln!(f, "  shop through the edge   http://{host}/")?;
        }
        if let Some(shop) = self.shop {
            writeln!(f, "  the shop's own address  http://{}/", shop.pages)?;
            writeln!(f, "  the shop's control      http://{}/control", shop.control)?;
        }
        writeln!(f, "  queue server            http://{}/", self.queue_server)?;
        write!(f, "  data and logs           {}", self.data_dir.display())
    }
}

impl Options {
    fn moves_something(&self) -> bool {
        self.port.is_some()
            || self.server_port.is_some()
            || self.shop_port.is_some()
            || self.capacity.is_some()
    }
}

impl From<u16> for ShopAddresses {
    fn from(port: u16) -> Self {
        Self { pages: local(port), control: local(port.saturating_add(1)) }
    }
}

/// The same configuration on other ports.
fn moved(text: &str, written: &Config, options: &Options) -> Result<String> {
    let shop = written.shops.first().context("the configuration names no shop")?;
    let mut config = DemoConfig::parse(text)?;
    config.place(Addresses {
        edge: local(options.port.unwrap_or_else(|| port_of(&written.site.public_url))),
        queue_server: local(options.server_port.unwrap_or(written.server.listen.port())),
        shop: local(options.shop_port.unwrap_or_else(|| port_of(&shop.origin))),
    })?;
    if let Some(capacity) = options.capacity {
        config.every_event("capacity", capacity)?;
    }
    config.to_text()
}

fn parse(name: &str, text: &str) -> Result<Config> {
    Config::parse(name, text).map_err(|errors| anyhow::anyhow!("the configuration has errors:\n{errors}"))
}

fn port_of(origin: &WebOrigin) -> u16 {
    let port = origin.authority().rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    port.unwrap_or(if origin.is_https() { 443 } else { 80 })
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

fn check_port(what: &str, option: &str, address: SocketAddr) -> Result<()> {
    let port = address.port();
    match TcpListener::bind(address) {
        Ok(_freed) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => bail!(
            "port {port}, meant for {what}, is taken by another program: stop that program, or choose another port \
             with {option}"
        ),
        Err(error) => Err(error)
            .with_context(|| format!("{what} cannot listen on port {port}; choose another with {option}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(port: Option<u16>) -> Options {
        Options { port, server_port: None, shop_port: None, capacity: None, data_dir: None, config: None }
    }

    #[test]
    fn the_file_names_the_ports() {
        let layout = Layout::read(&options(None)).unwrap();
        assert_eq!(layout.edge.port(), 8700);
        assert_eq!(layout.queue_server.port(), 8701);
        assert_eq!(layout.shop.map(|shop| (shop.pages.port(), shop.control.port())), Some((8702, 8703)));
        assert_eq!(layout.shop_hosts, ["localhost:8700", "beta.localhost:8700"]);
    }

    #[test]
    fn an_option_moves_one_part_and_leaves_the_rest() {
        let layout = Layout::read(&options(Some(9001))).unwrap();
        assert_eq!((layout.edge.port(), layout.queue_server.port()), (9001, 8701));
        assert_eq!(layout.shop_hosts[1], "beta.localhost:9001");
        assert!(parse("", &layout.config).unwrap().site.trusted_proxies.is_empty());
    }

    #[test]
    fn two_parts_on_one_port_are_refused_before_anything_is_built() {
        for port in [8701, 8702, 8703] {
            let error = Layout::read(&options(Some(port))).unwrap().check_ports().unwrap_err().to_string();
            assert!(error.contains(&port.to_string()) && error.contains("--port"), "{error}");
        }
    }

    #[test]
    fn a_small_capacity_shows_the_line() {
        let layout = Layout::read(&Options { capacity: Some(2), ..options(None) }).unwrap();
        let parsed = parse("", &layout.config).unwrap();
        assert!(parsed.events.iter().all(|event| event.capacity == 2));
        assert_eq!(layout.edge.port(), 8700);
    }

    #[test]
    fn a_taken_port_says_what_to_do() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let error = check_port("the edge", "--port", taken.local_addr().unwrap()).unwrap_err().to_string();
        assert!(error.contains("is taken") && error.contains("--port"), "{error}");
    }

    #[test]
    fn a_wrong_configuration_names_file_and_line() {
        let text = std::fs::read_to_string(workspace::root().join("tests/demo/fairgate.toml")).unwrap();
        let error =
            parse("my.toml", &text.replace("capacity = 100", "capacity = -1")).unwrap_err().to_string();
        assert!(error.contains("my.toml:") && error.contains("capacity"), "{error}");
    }
}
