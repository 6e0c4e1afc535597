// swift-tools-version: 6.3
import PackageDescription

/// Nocturne's side of `../geometry.py`. A package of its own, so that nobody else builds it.
let package = Package(
    name: "geometry-bench",
    dependencies: [.package(name: "nocturne", path: "../../..")],
    targets: [
        .executableTarget(
            name: "geometry-bench",
            dependencies: [
                "NocturneCore", "NocturneConcurrency", "NocturnePostprocess", "NocturneMesh", "NocturneFormats",
            ].map { .product(name: $0, package: "nocturne") },
            swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]
        )
    ],
    swiftLanguageModes: [.v6]
)
