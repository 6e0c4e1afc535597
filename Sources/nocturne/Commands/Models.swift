import ArgumentParser
import Foundation
import NocturneInference
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem

struct Models: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "models",
        abstract: "Manage model packages.",
        discussion:
            "Packages are searched for in the folders of NOCTURNE_MODELS, separated by colons, and in nocturne/models of "
            + "the XDG data home.",
        subcommands: [List.self, Import.self, Show.self, Check.self, Bench.self]
    )

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: "List the packages.")

        @Argument(help: "More folders to search.", completion: .directory)
        var folders: [String] = []

        @Flag(help: "List known packages and the commands that import them, instead of those that are there.")
        var available = false

        @Flag(help: "Print JSON.")
        var json = false

        func run() throws {
            // The known packages are part of the program, so the search path does not matter.
            guard !available else { return try KnownModel.print(json: json) }
            let catalog = LoadedModels.catalog(explicitFolders: folders.map(absolutePath))
            let entries = catalog.entries()
            if json {
                try Terminal.printJSON(ModelList(catalog, entries))
                // An empty list is valid JSON; the exit code distinguishes it from a list with packages.
                if entries.isEmpty { throw NocturneExit.nothingMatched }
                return
            }
            if entries.isEmpty {
                try Terminal.printResult("No packages in \(catalog.searchPath.joined(separator: ", "))")
                throw NocturneExit.nothingMatched
            }
            var rows = [["model", "version", "name", "task", "size", "folder"]]
            for entry in entries {
                switch entry.package {
                case .success(let package):
                    let size = "\(ByteCount(package.totalFileBytes))"
                    rows.append([package.id, package.version, package.name, package.task, size, entry.folder])
                // Listed with its error, since a package that is left out would seem not to be installed.
                case .failure(let error): rows.append([entry.folderName, "-", "-", "broken", "-", "\(error)"])
                }
            }
            try Terminal.printResult(Terminal.table(rows))
            let ids = entries.compactMap { try? $0.package.get().id }
            for id in Set(ids).sorted() where ids.count(where: { $0 == id }) > 1 {
                try Terminal.printResult(
                    "Several packages are called \(id): name one as \(id)@VERSION, or by its folder. The name alone means that "
                        + "in the first folder of the search path that has one."
                )
            }
        }
    }

    struct Show: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "show", abstract: "Show package details.")

        @Argument(help: "A name, or a package folder.", completion: .model)
        var model: String

        func run() throws {
            let package = try LoadedModels.package(model)
            try Terminal.printResult(
                "\(package.name) \(package.version) (\(package.id))\n\(package.description)\n"
                    + "Licence: \(package.licence)"
            )
            try Terminal.printResult("Digest: \(package.digest.hex)")
            if let source = package.source {
                let name = [source.name, source.version].compactMap { $0 }.joined(separator: " ")
                try Terminal.printResult(
                    "Made of: \(name.isEmpty ? "" : name + ", ")\(source.file), SHA-256 \(source.sha256)"
                )
            }
            for channel in package.channels { try Terminal.printResult("Channel: \(channel.name)") }
            // What a task adds is known only to its recipe. A package of an unknown task is shown without these lines.
            for line in try RecipeRegistry.all.kind(of: package.task)?.details(of: package) ?? [] {
                try Terminal.printResult(line)
            }
            // Models without a label map, such as those that classify photos, have no table.
            guard !package.labels.isEmpty else { return }
            try Terminal.printResult(
                Terminal.table(
                    [["value", "label", "colour"]] + package.labels.map { ["\($0.value)", $0.name, "\($0.color)"] }
                )
            )
        }
    }

    struct Check: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "check",
            abstract: "Verify a package's files, and run one patch through every available engine and precision.",
            discussion:
                "Differences are to the builtin engine's exact arithmetic: the largest and the root mean square, each "
                + "relative to that of the reference. Agreement is the share of voxels with the same largest class, on a "
                + "synthetic patch. Packages of the exporters record what the original library computed from this patch: a network "
                + "that differs from it by more than rounding explains, or that returns NaN or infinite values, ends the command "
                + "with 2."
        )

        @Argument(help: "A name, or a package folder.", completion: .model)
        var model: String

        @Option(name: .customLong("repeat"), help: "Timed runs, after one that is not timed.")
        var repeats = 3

        @Flag(help: "Print the report as JSON.")
        var json = false

        @OptionGroup var machine: MachineArguments

        func run() async throws {
            guard (1...1000).contains(repeats) else { throw ValidationError("--repeat takes a number from 1 to 1000") }
            let package = try LoadedModels.package(model)
            let threads = machine.width
            let report: CheckReport
            do {
                report = try await CheckReport(package: package, threads: threads, repeats: repeats)
            } catch {
                // Whatever fails here, the package cannot be used: exit code 2, as for a fault.
                throw BatchError(.modelUnusable, path: package.folder, detail: "\(error)")
            }
            if json { try Terminal.printJSON(report) } else { try Terminal.printResult(report.text) }
            // After the report, which has the figures that explain the fault.
            if let fault = report.fault {
                throw BatchError(.modelUnusable, path: package.folder, detail: fault)
            }
        }
    }

    struct Bench: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "bench",
            abstract: "Time a network on one patch, and print the timings as JSON.",
            discussion:
                "With --profile: every step of the network with its time, its operations and its memory traffic, "
                + "against the highest rates of this machine, which are measured in about three seconds. Effective "
                + "operations are those of the direct method, 2 for a multiply-add; real ones are those that are "
                + "computed. Memory traffic counts inputs, outputs and weights once each; where they fit in the caches, "
                + "it can exceed the rate of copies. Other work on the machine affects all figures."
        )

        @Argument(help: "An ONNX file.", completion: .file(extensions: ["onnx"]))
        var network: String

        @Option(help: "Extents of the patch (z, y, x), separated by commas.")
        var patch: PatchExtents

        @Option(help: "Arithmetic of the network.")
        var precision = InferencePrecision.float32

        @Option(name: .customLong("repeat"), help: "Timed runs, after one that is not timed.")
        var repeats = 5

        @Flag(help: "Print a table of every step against the peak of this machine.")
        var profile = false

        @Flag(help: "With --profile, print JSON.")
        var json = false

        @OptionGroup var machine: MachineArguments

        func run() async throws {
            guard repeats > 0 else { throw ValidationError("--repeat takes a number above 0") }
            // --json alone would change nothing: without --profile the timings are JSON in any case.
            guard profile || !json else { throw ValidationError("--json goes with --profile; the timings are JSON") }
            var benchmark = NetworkBenchmark(
                onnx: network,
                patch: patch.extents,
                threads: machine.width,
                repeats: repeats
            )
            benchmark.precision = precision
            benchmark.profiles = profile
            benchmark.environment = ProcessInfo.processInfo.environment
            let timings: NetworkBenchmark.Timings
            do {
                timings = try await benchmark.run()
            } catch let error as ModelFormatError {
                // The file, or a patch that it does not take: both were given.
                throw BatchError(.modelUnusable, path: "", detail: "\(error)")
            }
            if let profile = timings.profile, !json {
                try Terminal.printResult(profile.text(of: timings))
            } else {
                try Terminal.printJSON(timings)
            }
        }
    }
}

/// Extents such as 96,96,96, each 1...4096.
struct PatchExtents: ExpressibleByArgument {
    let extents: [Int]

    init?(argument: String) {
        // What is not a number becomes 0, which is outside the range and so refused with the rest.
        let parts = argument.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
        guard parts.allSatisfy({ (1...4096).contains($0) }) else { return nil }
        extents = parts
    }
}
