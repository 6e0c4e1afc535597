// swift-tools-version: 6.3
import PackageDescription

/// Nocturne's part of the benchmarks beside this file. A separate package, so that building Nocturne does not build them.
let package = Package(
    name: "benchmarks",
    dependencies: [.package(name: "nocturne", path: "../..")],
    targets: [
        benchmark("geometry-bench", ["Core", "Formats", "Mesh", "Postprocess"]),
        benchmark("kernel-bench", ["Core", "Numerics"]),
        benchmark("photos-bench", ["Core", "Formats", "Numerics"]),
        benchmark("picture-bench", ["Core", "Formats", "Pictures"]),
        benchmark("series-bench", ["Formats"]),
    ],
    swiftLanguageModes: [.v6]
)

/// - Parameter modules: those of Nocturne besides System and Concurrency, which all have.
func benchmark(_ name: String, _ modules: [String]) -> Target {
    .executableTarget(
        name: name,
        dependencies: (["System", "Concurrency"] + modules).map {
            .product(name: "Nocturne\($0)", package: "nocturne")
        },
        swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]
    )
}
