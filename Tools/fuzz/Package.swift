// swift-tools-version: 6.3
import PackageDescription

/// The driver of `fuzz.py`, which passes the flags of the sanitizers. A separate package, so that only fuzzing builds it.
let package = Package(
    name: "nocturne-fuzz",
    dependencies: [.package(name: "nocturne", path: "../..")],
    targets: [
        .executableTarget(
            name: "nocturne-fuzz",
            dependencies: [.product(name: "NocturneFuzz", package: "nocturne")],
            path: "Sources"
        )
    ],
    swiftLanguageModes: [.v6]
)
