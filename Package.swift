// swift-tools-version: 6.3
import PackageDescription

/// One list for every target and test: Swift 6 mode, explicit existentials, imports that say who sees them.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// A Swift module with the shared settings.
/// - Parameter embedded: a folder whose files become part of the program: it needs nothing of the checkout when it runs.
func module(
    _ name: String,
    _ dependencies: [Target.Dependency] = [],
    exclude: [String] = [],
    embedded: String? = nil
) -> Target {
    .target(
        name: name,
        dependencies: dependencies,
        exclude: exclude,
        resources: embedded.map { [.embedInCode($0)] } ?? [],
        swiftSettings: settings
    )
}

/// The tests of one module, mirroring its folders.
/// - Parameter computes: whether the tests have loops over many voxels or states. The others are not optimised: the compiler then takes
///   less than half of the time for them.
func tests(of name: String, _ dependencies: [Target.Dependency] = [], computes: Bool = false) -> Target {
    .testTarget(
        name: "\(name)Tests",
        dependencies: [.init(stringLiteral: name), "NocturneTestSupport"] + dependencies,
        swiftSettings: settings + (computes ? [] : [.unsafeFlags(["-Onone"])])
    )
}

/// What the programs in Tools/benchmarks measure.
let benchmarked = [
    "NocturneSystem", "NocturneCore", "NocturneConcurrency", "NocturneNumerics", "NocturneFormats",
    "NocturnePostprocess",
    "NocturneMesh", "NocturnePictures",
]

/// The command line: every recipe brings its own options.
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

/// What a module with recipes may use.
let recipe: [Target.Dependency] = [
    "NocturneSystem", "NocturneCore", "NocturneConcurrency", "NocturneNumerics", "NocturneFormats",
    "NocturneInference", "NocturnePostprocess", "NocturneJournal", "NocturneOutput", "NocturneReport", "NocturneBatch",
    "NocturneRecipeSupport", argumentParser,
]

let package = Package(
    name: "nocturne",
    products: [
        .executable(name: "nocturne", targets: ["nocturne"])
    ] + (benchmarked + ["NocturneFuzz"]).map { .library(name: $0, targets: [$0]) },
    dependencies: [
        // The command line: parsing, help and usage errors.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // Double-ended queues for the waiters of channels and pools, and a heap for the loads of shards.
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        // The journal: SQLite with a well-kept Swift face.
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        // The C and C++ boundary: imported internally, never in a public signature.
        .target(name: "CPosix"),
        // What the program does before any library is initialised.
        .target(name: "CNocturneStart"),
        .target(
            name: "CNocturneKernels",
            dependencies: ["COpenBLAS"]
        ),
        // Deflate for voxels and pictures; reading is zlib's. A core compresses label maps 2.8 to 5.2 times as fast as nibabel
        // (zlib, level 1), to 0.67 to 0.81 of its size; CT of 16 bits 2.8 to 3.4 times, to 0.98. Libraries, in chunks of 1 MiB
        // (2026-11-26, AMD EPYC, real and phantom volumes; a core's speed and the size, both as multiples of nibabel's):
        // - ISA-L 2.30, level 2: label maps 3.5 to 7.4 and 0.91 to 0.98, CT 4.0 to 4.8 and 0.99 to 1.00. Its bytes depend on
        //   the processor (run in QEMU as core2duo, Nehalem and Haswell, and on AVX-512): at levels 0 to 2 on SSE4.2, at level
        //   3 also on AVX2 and AVX-512. All machines must write the same bytes, with `--isa baseline` too.
        // - libdeflate 1.14, level 1: label maps of scans 1.4 to 1.7 and 0.80 to 0.83, CT 1.9 to 2.2 and 0.98.
        // - zlib-ng 2.3.3: level 1 is 1.3 to 1.5 times the size; level 2 CT 1.1 to 1.2 and 0.99.
        // The bytes of libdeflate and zlib-ng differ between releases.
        .target(name: "CNocturneDeflate"),
        // What is done with tiles on a device: one source for C and for a device's compiler.
        .target(name: "CTileKernels"),
        // ONNX Runtime's C interface and that of NVIDIA's driver, likewise.
        .target(name: "CONNXRuntime", dependencies: ["CTileKernels"]),
        // JPEG and PNG: libjpeg-turbo and libpng behind calls that cannot jump through Swift. WebP: libwebp. HEIC: libheif, which is
        // loaded at run time, since it is linked with encoders under the GPL.
        .target(
            name: "CPhoto",
            linkerSettings: [
                .linkedLibrary("jpeg"), .linkedLibrary("png16"), .linkedLibrary("webp"), .linkedLibrary("webpdemux"),
            ]
        ),
        // TIFF photos, likewise; lossless JPEG in them by DCMTK, since libjpeg decodes it only from version 3 of libjpeg-turbo on.
        .target(name: "CTIFF", dependencies: ["CPhoto", "CDCMTK"], linkerSettings: [.linkedLibrary("tiff")]),
        // Loops over eight-bit pixels.
        .target(name: "CPhotoKernels"),
        // DICOM data sets, read by the project's own parser: files are not trusted, headers are read by the tens of
        // thousands, and pixels stay in the file (CDICOMParser.h has the reasons in full).
        .target(name: "CDICOMParser", linkerSettings: [.linkedLibrary("z")]),
        // DCMTK: compressed frames, segmentations and structure sets, and the files that the parser does not understand.
        .target(
            name: "CDCMTK",
            dependencies: ["CDICOMParser"],
            linkerSettings: [
                // By name: dcmtk.pc asks for packages that need not be installed.
                .linkedLibrary("dcmjpeg"), .linkedLibrary("dcmjpls"), .linkedLibrary("dcmimage"),
                .linkedLibrary("dcmimgle"), .linkedLibrary("dcmdata"), .linkedLibrary("oflog"),
                .linkedLibrary("ofstd"),
                // JPEG 2000, which DCMTK does not decode.
                .linkedLibrary("openjp2"),
            ]
        ),
        // Reports: pages of PDF, drawn with a bundled copy of the font so that they are the same everywhere.
        .systemLibrary(name: "CCairo", pkgConfig: "cairo-ft", providers: [.apt(["libcairo2-dev"])]),
        .target(name: "CReportFonts", exclude: ["LICENSE.txt"]),
        // The files of the review page, embedded by the C compiler: Swift's takes 14 seconds for them.
        .target(name: "CReviewPage"),
        // Matrix products.
        .systemLibrary(name: "COpenBLAS", pkgConfig: "openblas", providers: [.apt(["libopenblas-dev"])]),
        // Compressed files are read, and checksums are computed; also what is kept of thousands of items.
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        // SHA-256 of results, sources and model packages.
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),

        // The operating system: files, digests, JSON, time, memory readings, injected faults.
        module("NocturneSystem", ["CCrypto", "CPosix", "CZlib"]),
        // Values: geometry, voxels, images, regions.
        module("NocturneCore", ["NocturneSystem"]),
        module(
            "NocturneConcurrency",
            ["NocturneSystem", "NocturneCore", "CPosix", .product(name: "DequeModule", package: "swift-collections")]
        ),
        // Algorithms and formats: five modules that do not import each other.
        module(
            "NocturneNumerics",
            ["NocturneSystem", "NocturneCore", "NocturneConcurrency", "CNocturneKernels", "CPhotoKernels"]
        ),
        module(
            "NocturneFormats",
            [
                "NocturneSystem", "NocturneCore", "NocturneConcurrency", "CDICOMParser", "CDCMTK", "CZlib",
                "CNocturneDeflate",
                "CPhoto", "CTIFF",
                "CCairo", "CReportFonts",
            ]
        ),
        module(
            "NocturneInference",
            [
                "NocturneSystem", "NocturneCore", "NocturneConcurrency", "CPosix", "CNocturneKernels",
                "CONNXRuntime", "CTileKernels",
            ]
        ),
        module("NocturnePostprocess", ["NocturneSystem", "NocturneCore", "NocturneConcurrency"]),
        module("NocturneMesh", ["NocturneSystem", "NocturneCore", "NocturneConcurrency"]),
        module(
            "NocturnePictures",
            ["NocturneSystem", "NocturneCore", "NocturneConcurrency", "NocturneFormats", "CNocturneKernels"]
        ),
        // Features of regions, as the Image Biomarker Standardisation Initiative defines them.
        module(
            "NocturneRadiomics",
            ["NocturneSystem", "NocturneCore", "NocturneConcurrency", "NocturnePostprocess", "NocturneMesh"],
            embedded: "Presets"
        ),
        // The database: schema, records, queries. The only module that knows SQLite.
        module("NocturneJournal", ["NocturneSystem", .product(name: "GRDB", package: "GRDB.swift")]),
        // A batch's output folder: its layout, lock, description, events and tables.
        module(
            "NocturneOutput",
            ["NocturneSystem", "NocturneConcurrency", "NocturneJournal"]
        ),
        // What reads the journal and the results of a batch: report, verification, comparison, history, removal.
        module(
            "NocturneReport",
            ["NocturneSystem", "NocturneCore", "NocturneConcurrency", "NocturneJournal", "NocturneOutput"],
            embedded: "Schemas"
        ),
        // The engine, and the contract of recipes.
        module(
            "NocturneBatch",
            [
                "NocturneSystem", "NocturneCore", "NocturneConcurrency", "NocturneJournal", "NocturneOutput",
                "NocturneReport", "CPosix",
            ]
        ),
        // What recipes share: sources, kept headers, results, their inspection.
        module(
            "NocturneRecipeSupport",
            [
                "NocturneSystem", "NocturneCore", "NocturneConcurrency", "NocturneFormats", "NocturneInference",
                "NocturneJournal", "NocturneOutput", "NocturneReport", "NocturneBatch", argumentParser,
            ]
        ),
        // Recipes tie formats, models and algorithms together: those for volumes, and those for photos, which segment a
        // photo as a volume of one slice.
        module(
            "NocturneVolumes",
            recipe + ["NocturneMesh", "NocturnePictures", "NocturneRadiomics"],
            embedded: "Schemas"
        ),
        module("NocturnePhotos", recipe + ["NocturneVolumes"], embedded: "Schemas"),
        // The only list of recipes.
        module(
            "NocturneRecipes",
            [
                "NocturneSystem", "NocturneConcurrency", "NocturneInference",
                "NocturneJournal", "NocturneOutput", "NocturneReport", "NocturneBatch", "NocturneRecipeSupport",
                "NocturneVolumes", "NocturnePhotos",
                "CPosix", argumentParser,
            ]
        ),
        // The page for reviewers of a batch.
        module(
            "NocturneReview",
            [
                "NocturneSystem", "NocturneJournal", "NocturneOutput", "NocturneReport",
                "NocturneRadiomics", "NocturneRecipeSupport", "CReviewPage",
            ],
            exclude: ["Page"]
        ),
        // The engine as a child process: signals, restarts, locks, requests from other processes.
        .target(
            name: "NocturneSupervisor",
            dependencies: [
                "NocturneSystem", "NocturneConcurrency", "NocturneJournal", "NocturneOutput",
                "NocturneBatch", "CPosix",
            ],
            swiftSettings: settings
        ),
        // Shards of a batch for several machines: packing, merging, the schedulers of clusters.
        module(
            "NocturneCluster",
            [
                "NocturneSystem", "NocturneJournal", "NocturneOutput", "NocturneReport", "NocturneBatch",
                .product(name: "HeapModule", package: "swift-collections"),
            ]
        ),
        .executableTarget(
            name: "nocturne",
            dependencies: [
                "NocturneSupervisor", "CNocturneStart", "NocturneCluster", "NocturneReview", "NocturneRecipes",
                "NocturneRecipeSupport",
                "NocturneVolumes", "NocturneRadiomics",
                "NocturneBatch", "NocturneReport", "NocturneOutput", "NocturneJournal",
                "NocturneInference", "NocturneFormats", "NocturneConcurrency",
                "NocturneSystem", "NocturneCore", "CPosix",
                argumentParser,
            ],
            // What the commands print is held against them by the tests alone.
            exclude: ["Schemas"],
            resources: [.embedInCode("known-models.json")],
            swiftSettings: settings
        ),

        // Tests, one target a module; what they share is under Tests too.
        .target(name: "CBlockingCalls", dependencies: ["CPosix"], path: "Tests/CBlockingCalls"),
        .target(
            name: "NocturneTestSupport",
            dependencies: [
                "NocturneSystem", "NocturneCore", "NocturneConcurrency", "NocturneJournal", "CBlockingCalls",
            ],
            path: "Tests/NocturneTestSupport",
            swiftSettings: settings
        ),
        // Every reader as a function of bytes, for Tools/fuzz/fuzz.py and for the files it found.
        .target(
            name: "NocturneFuzz",
            dependencies: [
                "NocturneRecipes", "NocturneVolumes", "NocturnePhotos", "NocturneJournal", "NocturneOutput",
                "NocturneReport", "NocturneBatch", "NocturneRadiomics",
                "NocturneInference", "NocturneFormats", "NocturneConcurrency", "NocturneSystem", "NocturneCore",
                "CZlib",
            ],
            path: "Tests/NocturneFuzz",
            swiftSettings: settings
        ),
        tests(of: "NocturneFuzz", ["NocturneSystem"]),
        tests(of: "NocturneSystem"),
        tests(of: "NocturneCore", ["NocturneSystem"], computes: true),
        tests(of: "NocturneConcurrency", ["NocturneSystem"], computes: true),
        tests(of: "NocturneNumerics", ["NocturneSystem"], computes: true),
        tests(of: "NocturneFormats", ["NocturneSystem", "CDICOMParser", "CDCMTK", "NocturneNumerics"]),
        tests(of: "NocturneInference", ["NocturneSystem", "CNocturneKernels"], computes: true),
        tests(of: "NocturnePostprocess", ["NocturneSystem"], computes: true),
        tests(of: "NocturneMesh", ["NocturneSystem", "NocturneFormats"], computes: true),
        tests(of: "NocturnePictures", ["NocturneSystem", "NocturneFormats"], computes: true),
        tests(of: "NocturneRadiomics", ["NocturneSystem", "NocturneCore", "NocturneConcurrency"], computes: true),
        tests(
            of: "NocturneJournal",
            ["NocturneSystem", "NocturneCore", "NocturneBatch", .product(name: "GRDB", package: "GRDB.swift")]
        ),
        tests(of: "NocturneOutput", ["NocturneSystem", "NocturneCore", "NocturneConcurrency", "NocturneJournal"]),
        tests(of: "NocturneReport", ["NocturneSystem", "NocturneCore", "NocturneJournal", "NocturneOutput"]),
        tests(of: "NocturneBatch", ["NocturneSystem", "NocturneJournal"]),
        // Apart, since it is optimised: it visits a million states, for which it takes a minute otherwise.
        .testTarget(
            name: "NocturneBatchStatesTests",
            dependencies: ["NocturneBatch", "NocturneSystem", "NocturneJournal", "NocturneTestSupport"],
            swiftSettings: settings
        ),
        tests(
            of: "NocturneReview",
            [
                "NocturneSystem", "NocturneJournal", "NocturneOutput", "NocturneReport", "NocturneBatch",
                "NocturneRecipeSupport", "NocturneRecipes",
            ]
        ),
        tests(
            of: "NocturneCluster",
            ["NocturneSystem", "NocturneJournal", "NocturneOutput", "NocturneReport", "NocturneBatch"]
        ),
        tests(
            of: "NocturneSupervisor",
            [
                "NocturneSystem", "NocturneConcurrency", "NocturneJournal", "NocturneOutput", "NocturneReport",
                "NocturneBatch",
            ]
        ),
        tests(
            of: "NocturneRecipes",
            [
                "NocturneVolumes", "NocturnePhotos", "NocturneRecipeSupport", "NocturneJournal", "NocturneOutput",
                "NocturneReport", "NocturneBatch",
                "NocturneSystem", "NocturneFormats", "NocturneInference", "NocturnePictures", argumentParser,
            ]
        ),
        tests(of: "nocturne", ["NocturneJournal", "NocturneFormats", "NocturneSystem", "NocturneCore", "CZlib"]),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu11,
    cxxLanguageStandard: .cxx17
)

// Warnings are errors where this is set, as in .ci/run, and nowhere else: a newer compiler must not break a user's build.
if Context.environment["NOCTURNE_STRICT"] == "1" {
    for target in package.targets where target.type != .system {
        target.swiftSettings = (target.swiftSettings ?? []) + [.treatAllWarnings(as: .error)]
        target.cSettings = (target.cSettings ?? []) + [.treatAllWarnings(as: .error)]
        target.cxxSettings = (target.cxxSettings ?? []) + [.treatAllWarnings(as: .error)]
    }
}
