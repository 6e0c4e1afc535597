import ArgumentParser
import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneRecipes
import NocturneSystem

struct Models: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "The model packages that are there.",
        discussion:
            "Looked for in the folders of NOCTURNE_MODELS, separated by colons, and in nocturne/models of the XDG data home.",
        subcommands: [List.self, Show.self, Check.self, Bench.self]
    )

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List them.")

        @Argument(help: "More folders to look in.")
        var folders: [String] = []

        func run() throws {
            let catalog = ModelCatalog(
                explicitFolders: folders.map(absolutePath),
                environment: ProcessInfo.processInfo.environment
            )
            let entries = catalog.entries()
            if entries.isEmpty {
                print("No packages in \(catalog.searchPath.joined(separator: ", "))")
                throw NocturneExit.nothingMatched
            }
            var rows = [["model", "version", "task", "folder"]]
            for entry in entries {
                switch entry.package {
                case .success(let package):
                    rows.append([package.id, package.version, package.task.rawValue, entry.folder])
                case .failure(let error): rows.append([entry.folderName, "-", "broken", "\(error)"])
                }
            }
            print(Terminal.table(rows))
        }
    }

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show what a package says of itself.")

        @Argument(help: "A name, or a package folder.")
        var model: String

        func run() throws {
            let package = try LoadedModels.package(model)
            print(
                "\(package.name) \(package.version) (\(package.id))\n\(package.description)\nLicence: \(package.licence)"
            )
            print("Digest: \(package.digest.hex)")
            for channel in package.channels { print("Channel: \(channel.name)") }
            for (index, stage) in (package.volumeSegmentation?.stages ?? []).enumerated() {
                let spacing = stage.spacing.map {
                    $0.map { $0.map { "\($0)" } ?? "own" }.joined(separator: "×") + " mm"
                }
                print(
                    "Stage \(index + 1): spacing \(spacing ?? "the volume's own"), patch "
                        + stage.patchSize.map(String.init).joined(separator: "×")
                        + ", step \(stage.tileStep), networks: \(stage.networks.count), mirrored axes: "
                        + "\(stage.mirroringAxes.count)"
                )
            }
            print(
                Terminal.table(
                    [["value", "label", "colour"]] + package.labels.map { ["\($0.value)", $0.name, "\($0.color)"] }
                )
            )
        }
    }

    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Verify a package's files, and run one patch through every engine and precision there is.",
            discussion:
                "Differences are to the builtin engine's exact arithmetic: the largest, and the root mean square, each by the reference's own. Agreement is the share of voxels whose largest class is the same, on a made-up patch."
        )

        @Argument(help: "A name, or a package folder.")
        var model: String

        @Option(name: .customLong("repeat"), help: "Timed runs, after one that is not timed.")
        var repeats = 3

        @Flag(help: "The report as JSON on standard output.")
        var json = false

        @OptionGroup var resources: ResourceArguments

        func run() async throws {
            guard (1...1000).contains(repeats) else { throw ValidationError("--repeat takes a number from 1 to 1000") }
            let package = try LoadedModels.package(model)
            let threads = try resources.width()
            let report: CheckReport
            do {
                report = try await CheckReport(package: package, threads: threads, repeats: repeats)
            } catch {
                throw BatchError(.modelUnusable, path: package.folder, detail: "\(error)")
            }
            if json { try Terminal.printJSON(report) } else { print(report.text) }
        }
    }

    struct Bench: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Time a network on one patch, and print the timings as JSON."
        )

        @Argument(help: "An ONNX file.")
        var network: String

        @Option(help: "Extents of the patch (z, y, x), separated by commas.")
        var patch: String

        @Option(help: "exact, float32 or bfloat16.")
        var precision = InferencePrecision.float32.rawValue

        @Option(name: .customLong("repeat"), help: "Timed runs, after one that is not timed.")
        var repeats = 5

        @OptionGroup var resources: ResourceArguments

        func run() async throws {
            let extents = patch.split(separator: ",").compactMap { Int($0) }
            guard !extents.isEmpty, extents.allSatisfy({ (1...4096).contains($0) }), repeats > 0 else {
                throw ValidationError("--patch takes extents such as 96,96,96, and --repeat a number above 0")
            }
            guard let precision = InferencePrecision(rawValue: precision) else {
                throw ValidationError("--precision takes exact, float32 or bfloat16")
            }
            let timings = try await NetworkBenchmark.run(
                onnx: network,
                patch: extents,
                precision: precision,
                threads: try resources.width(),
                repeats: repeats,
                environment: ProcessInfo.processInfo.environment
            )
            try Terminal.printJSON(timings)
        }
    }
}
