// swift-tools-version: 6.3
import PackageDescription

/// Nocturne's side of `../dicom_scan.py`. A package of its own, so that nobody else builds it.
let package = Package(
    name: "series-bench",
    dependencies: [.package(name: "nocturne", path: "../../..")],
    targets: [
        .executableTarget(
            name: "series-bench",
            dependencies: [
                "NocturneConcurrency", "NocturneFormats",
            ].map { .product(name: $0, package: "nocturne") },
            swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]
        )
    ],
    swiftLanguageModes: [.v6]
)
