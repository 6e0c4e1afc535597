// swift-tools-version: 6.3
import PackageDescription

// A separate package, so that building Nocturne does not build its benchmarks.
let package = Package(
    name: "kernel-benchmarks",
    dependencies: [.package(name: "nocturne", path: "../../..")],
    targets: [
        .executableTarget(
            name: "KernelBenchmarks",
            dependencies: [
                .product(name: "NocturneSystem", package: "nocturne"),
                .product(name: "NocturneCore", package: "nocturne"),
                .product(name: "NocturneConcurrency", package: "nocturne"),
                .product(name: "NocturneNumerics", package: "nocturne"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("InternalImportsByDefault"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
