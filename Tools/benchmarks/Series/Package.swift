// swift-tools-version: 6.3
import PackageDescription

/// Nocturne's part of `../dicom_scan.py`. A separate package, so that only this benchmark builds it.
let package = Package(
    name: "series-bench",
    dependencies: [.package(name: "nocturne", path: "../../..")],
    targets: [
        .executableTarget(
            name: "series-bench",
            dependencies: [
                "NocturneSystem", "NocturneConcurrency", "NocturneFormats",
            ].map { .product(name: $0, package: "nocturne") },
            swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]
        )
    ],
    swiftLanguageModes: [.v6]
)
