//! Compiles the wire with no protoc on the machine.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = ["run", "node", "blob", "cache", "executor"]
        .map(|name| format!("proto/muster/v1/{name}.proto"));
    for file in &files {
        println!("cargo::rerun-if-changed={file}");
    }
    println!("cargo::rerun-if-changed=proto/muster/v1/types.proto");
    let descriptors = protox::compile(files, ["proto"])?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}
