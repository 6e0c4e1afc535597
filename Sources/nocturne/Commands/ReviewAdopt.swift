import ArgumentParser
import NocturneConcurrency
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneRecipes
import NocturneSupervisor
import NocturneSystem

extension Review {
    struct Adopt: EngineCommand {
        static let configuration = CommandConfiguration(
            commandName: "adopt",
            abstract: "Replace the label map of an item by one that a person has edited.",
            discussion: """
                The surfaces, measures, pictures and DICOM objects of the item are made again from the edited map, without \
                inference; the model's map stays next to it as segmentation-model.nii.gz. The map must have the same voxels, in \
                any order of the axes, and only values of the item's labels. What else waits in the batch is processed as well. \
                The edited map stays in use until the source, the model, or an option changes that the labels depend on.
                """
        )

        @Argument(help: "The batch's output folder.", completion: .batch)
        var output: String

        @Argument(help: "The item, by the name of its folder.")
        var item: String

        @Argument(help: "The edited label map: NIfTI, NRRD or MetaImage, in one file.", completion: .file())
        var map: String?

        @Flag(help: "Forget the edited map and put the model's result back.")
        var undo = false

        @OptionGroup var resources: ResourceArguments
        @OptionGroup(title: ShortHelp.title) var show: OutputArguments

        var folder: OutputFolder { OutputFolder(absolutePath(output)) }

        func check() throws { try folder.checkHoldsBatch() }

        func validate() throws {
            guard undo == (map == nil) else {
                throw ValidationError(undo ? "--undo takes no label map." : "Give the edited label map, or --undo.")
            }
        }

        func run() async throws {
            // A restart of the engine continues what the first one began.
            if ProcessHandover.toEngine?.previousEnd == nil { try await change() }
            var end: NocturneExit?
            do { try await processBatch() } catch let exit as NocturneExit { end = exit }
            // A run that was stopped makes the result later.
            if map != nil, end == nil || end == .someFailed, try await !isInUse() {
                Terminal.printError(
                    "the edited map of \(item) is not in use: the source or an option has changed since the result was made, so the "
                        + "labels are those of the model. Adopt the map again if it fits them"
                )
                end = .someFailed
            }
            if let end { throw end }
        }

        /// Whether the present result, or the attempt to make it, is of the edited map.
        private func isInUse() async throws -> Bool {
            try await folder.reading { journal in
                let edit = try await journal.edits()[item]?.fingerprint.hex
                return try await journal.items(named: [item])[item]?.fingerprint == edit
            }
        }

        /// Keeps the edited map, or forgets it; the run that follows makes the result again.
        private func change() async throws {
            // Shards have edits of their items, which must not change meanwhile.
            try await folder.checkIsWhole()
            let items = try await ExistingBatch.contents(of: folder).items
            guard let item = items.first(where: { $0.name == item }) else {
                throw BatchError(noItem: item, in: folder.path, among: items.map(\.name))
            }
            // The run that follows makes the result again, or records the model's: without source and model it does neither.
            let sources = try await folder.reading { try await $0.discovered([item.id])[item.id]?.inputs ?? [] }
            if let gone = sources.map(\.path).first(where: { !FileSystem.exists($0) }) {
                let detail =
                    "a source file of \(item.name) was not found: \(gone). Nothing was changed. Put it back, and try again"
                throw BatchError(.inputMissing, path: "", detail: detail)
            }
            _ = try LoadedModels.packages(of: try await description())
            guard let map else {
                // Nil where no map was adopted. It is an error, since the user expects a change of the result.
                guard let notes = try await EditedLabels.remove(of: item, in: folder) else {
                    throw BatchError(
                        .unknownItem,
                        path: folder.path,
                        detail: "no edited map of \(item.name) was adopted"
                    )
                }
                if !show.quiet { for note in notes { Terminal.printMessage(note) } }
                return
            }
            // An item without a result has no labels whose values and grid the map could be checked against.
            guard item.state == .completed else {
                let hasEdit = !FileSystem.entries(folder.editedLabels(of: item.name).folder).isEmpty
                let detail =
                    "\(item.name) is \(item.state.rawValue); only a completed item has labels to be replaced"
                    + (hasEdit
                        ? ". `nocturne review adopt \(folder.argument) \(ShellWord.quoted(item.name)) --undo` puts the model's result back"
                        : "")
                throw BatchError(.unknownItem, path: folder.path, detail: detail)
            }
            // The edited map is compared with the item's own.
            if let changed = try await ExistingBatch.changedFile(of: item, in: folder) {
                let detail =
                    "\(changed) is missing, or was changed after it was written. Move \(folder.item(item.name)) away, make the result again "
                    + "with `nocturne resume \(folder.argument)`, and adopt the edited map then"
                throw BatchError(.inputMissing, path: "", detail: detail)
            }
            let path = absolutePath(map)
            // Checked before it is kept: a map that cannot be used would fail in the run, without the user.
            let replaced = try RecipeResults().checkEdit(path, of: folder.item(item.name), scope: .serial())
            try await EditedLabels.keep(path, for: item, map: replaced, in: folder, Program.time)
        }
    }
}
