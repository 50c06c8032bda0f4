//! `muster demo-app`: the shop that the examples drive.

use std::collections::BTreeSet;

use muster_proto::code::ErrorCode;
use muster_shop::{Bug, Shop, ShopOptions};

use crate::args::DemoAppArgs;
use crate::failure::Failure;
use crate::interrupt;

pub(crate) async fn serve(args: DemoAppArgs) -> Result<u8, Failure> {
    if args.bug.iter().any(|name| name == "help") {
        for bug in Bug::ALL {
            println!("{:<20} {}", bug.name(), bug.help());
        }
        return Ok(0);
    }
    let bugs: BTreeSet<Bug> = args
        .bug
        .iter()
        .map(|name| name.parse())
        .collect::<Result<_, muster_shop::UnknownBug>>()
        .map_err(|error| Failure::new(ErrorCode::InvalidConfig, error.to_string()))?;
    let shop = Shop::bind(ShopOptions {
        listen: args.listen,
        bugs,
        seed: args.seed,
    })
    .await
    .map_err(|error| {
        Failure::new(
            ErrorCode::ListenRefused,
            format!(
                "the shop can't listen on {}: {error}; choose another with --listen",
                args.listen
            ),
        )
    })?;
    println!("the shop is open at http://{}/", shop.address());
    let stop = interrupt::token().map_err(|error| {
        Failure::new(
            ErrorCode::InternalError,
            format!("signals can't be caught: {error}"),
        )
    })?;
    let stopped = stop.clone().cancelled_owned();
    shop.serve(stopped).await.map_err(|error| {
        Failure::new(
            ErrorCode::ListenRefused,
            format!("the shop closed: {error}"),
        )
    })?;
    Ok(0)
}
