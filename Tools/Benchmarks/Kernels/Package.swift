// swift-tools-version: 6.3
import PackageDescription

// A package of its own, so that nobody who builds Nocturne builds its benchmarks.
let package = Package(
    name: "kernel-benchmarks",
    dependencies: [.package(name: "nocturne", path: "../../..")],
    targets: [
        .executableTarget(
            name: "KernelBenchmarks",
            dependencies: [
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
