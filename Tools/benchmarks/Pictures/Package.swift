// swift-tools-version: 6.3
import PackageDescription

/// Times the pictures of a volume. A separate package, so that only this benchmark builds it.
let package = Package(
    name: "picture-bench",
    dependencies: [.package(name: "nocturne", path: "../../..")],
    targets: [
        .executableTarget(
            name: "picture-bench",
            dependencies: [
                "NocturneSystem", "NocturneCore", "NocturneConcurrency", "NocturneFormats", "NocturnePictures",
            ].map {
                .product(name: $0, package: "nocturne")
            },
            swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]
        )
    ],
    swiftLanguageModes: [.v6]
)
