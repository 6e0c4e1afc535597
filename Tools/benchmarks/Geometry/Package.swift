// swift-tools-version: 6.3
import PackageDescription

/// Nocturne's part of `../geometry.py`. A separate package, so that only this benchmark builds it.
let package = Package(
    name: "geometry-bench",
    dependencies: [.package(name: "nocturne", path: "../../..")],
    targets: [
        .executableTarget(
            name: "geometry-bench",
            dependencies: [
                "NocturneSystem", "NocturneCore", "NocturneConcurrency", "NocturnePostprocess", "NocturneMesh",
                "NocturneFormats",
            ].map { .product(name: $0, package: "nocturne") },
            swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]
        )
    ],
    swiftLanguageModes: [.v6]
)
