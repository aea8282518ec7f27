//! A script, and the name by which Redis remembers it.

use super::link::{Link, LinkError};
use redis::{ErrorKind, ServerErrorKind, ToRedisArgs, Value};

/// One script.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) source: String,
    pub(crate) sha1: String,
}

impl Script {
    pub(crate) fn new(source: String) -> Self {
        let sha1 = redis::Script::new(&source).get_hash().to_owned();
        Self { source, sha1 }
    }

    /// Runs it by its name; with its text where Redis has forgotten it, and that cannot fail for the same reason. The caller
    /// limits the time.
    pub(crate) async fn run(
        &self,
        link: &Link,
        keys: &[String],
        arguments: &[impl ToRedisArgs],
    ) -> Result<Value, LinkError> {
        let command = |verb: &str, what: &str| {
            let mut command = redis::cmd(verb);
            command.arg(what).arg(keys.len()).arg(keys).arg(arguments);
            command
        };
        match link.send(&command("EVALSHA", &self.sha1)).await {
            Err(LinkError::Refused(error)) if error.kind() == NO_SCRIPT => {
                link.send(&command("EVAL", &self.source)).await
            }
            sent => sent,
        }
    }
}

const NO_SCRIPT: ErrorKind = ErrorKind::Server(ServerErrorKind::NoScript);
