// swift-tools-version: 6.3
import PackageDescription

/// Nocturne's side of `../photos.py`. A package of its own, so that nobody else builds it.
let package = Package(
    name: "photos-bench",
    dependencies: [.package(name: "nocturne", path: "../../..")],
    targets: [
        .executableTarget(
            name: "photos-bench",
            dependencies: ["NocturneCore", "NocturneConcurrency", "NocturneNumerics", "NocturneFormats"].map {
                .product(name: $0, package: "nocturne")
            },
            swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]
        )
    ],
    swiftLanguageModes: [.v6]
)
