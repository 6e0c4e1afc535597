// swift-tools-version: 6.3
import PackageDescription

/// Nocturne's part of `../photos.py`. A separate package, so that only this benchmark builds it.
let package = Package(
    name: "photos-bench",
    dependencies: [.package(name: "nocturne", path: "../../..")],
    targets: [
        .executableTarget(
            name: "photos-bench",
            dependencies: [
                "NocturneSystem", "NocturneCore", "NocturneConcurrency", "NocturneNumerics", "NocturneFormats",
            ].map {
                .product(name: $0, package: "nocturne")
            },
            swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]
        )
    ],
    swiftLanguageModes: [.v6]
)
