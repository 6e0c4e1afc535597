import Foundation
public import NocturneJournal
public import NocturneSystem

/// Where the edited label map of an item and the model's map are kept, outside the item's folder, which is made again.
public struct EditedLabels: Sendable, Hashable {
    /// Of the edits of one item, in the hidden folder.
    package let folder: String

    /// A copy of the person's map.
    /// - Parameter file: the name of the person's file, whose ending states the format.
    package func edited(_ file: String) -> String {
        let ending = file.split(separator: ".").last.map { $0.lowercased() } ?? ""
        return folder + "/edited." + (["nrrd", "nhdr", "mha", "mhd"].contains(ending) ? ending : "nii.gz")
    }
    /// The model's map.
    public var original: String { folder + "/model.nii.gz" }
    /// What the journal records of the edit, for one that loses its record.
    private var record: String { folder + "/edit.json" }
    /// The model's result, which is put back when the edit is undone.
    package var result: String { folder + "/model" }

    /// Copies both maps, and records the edit: it changes the item's fingerprint, so that the next run processes it.
    /// - Parameters:
    ///   - path: the person's file. What it holds is checked by the recipe before.
    ///   - map: the label map in the item's folder.
    /// - Throws: ``BatchError`` with `outputInUse` while a run is active; `FileSystemError`; `JournalError`.
    public static func keep(
        _ path: String,
        for item: JournalItem,
        map: String,
        in output: OutputFolder,
        _ time: any TimeSource
    ) async throws {
        let place = output.editedLabels(of: item.name)
        try await output.changing { journal in
            try FileSystem.makeFolder(output.edits, mode: 0o700)
            try FileSystem.makeFolder(place.folder, mode: 0o700)
            // Of an item that is edited again the map in its folder is not the model's.
            let earlier = try await journal.edits()[item.name]
            let before = earlier?.fingerprint.hex == item.fingerprint ? earlier : nil
            if before == nil {
                try FileSystem.copy(map, to: place.original)
                try place.keep(ResultFolder(output.item(item.name)))
            }
            let file = path.split(separator: "/").last.map(String.init) ?? path
            let copy = place.edited(file)
            try FileSystem.copy(path, to: copy)
            let edit = LabelEdit(
                item: item.name,
                baseFingerprint: before?.baseFingerprint ?? item.fingerprint,
                file: file,
                sha256: try FileSystem.digest(copy).digest.hex,
                time: time.wallClock.timestamp
            )
            try FileSystem.write(place.record, try StableJSON.encode(edit))
            try await journal.keep(edit)
            if let old = earlier.map({ place.edited($0.file) }), old != copy { FileSystem.remove(old) }
        }
    }

    /// The edits by the files that are kept for them: for a new journal, where the one before was lost or moved away.
    package static func kept(in output: OutputFolder) -> [LabelEdit] {
        FileSystem.entries(output.edits).compactMap { name in
            let place = output.editedLabels(of: name)
            guard let bytes = try? FileSystem.read(place.record),
                let edit = try? JSONDecoder().decode(LabelEdit.self, from: Data(bytes)), edit.item == name,
                (try? FileSystem.digest(place.edited(edit.file)))?.digest.hex == edit.sha256
            else { return nil }
            return edit
        }
    }

    /// Gives the files of a result second names, but for those that somebody has changed or removed: whether the edit applies is
    /// decided by `result.json`.
    private func keep(_ current: ResultFolder) throws {
        if let left = FileSystem.remove(result) { throw BatchError(notRemoved: left) }
        guard let unchanged = current.unchangedFiles()?.files else { return }
        _ = try current.keep(unchanged.map(\.path) + ["run.json"], in: ResultFolder(result), aside: result)
    }

    /// Forgets the edit, and puts the model's result back, which the next run finds complete. Where nothing was kept that fits, the
    /// next run makes it again.
    /// - Returns: what the user should know; nil when there was no edit.
    /// - Throws: as ``keep(_:for:map:in:_:)``.
    public static func remove(of item: JournalItem, in output: OutputFolder) async throws -> [String]? {
        let place = output.editedLabels(of: item.name)
        return try await output.changing { journal in
            guard let edit = try await journal.edits()[item.name] else { return nil }
            // First, so that the command can be repeated where something stays.
            for file in [place.record, place.edited(edit.file), place.original] {
                if let left = FileSystem.remove(file) { throw BatchError(notRemoved: left) }
            }
            // Before the result: a run that finds the model's must not take it for the edited one.
            try await journal.removeEdit(of: item.name)
            var notes: [String] = []
            var end = item.fingerprint == edit.fingerprint.hex ? "is made again" : "stays"
            if item.fingerprint == edit.fingerprint.hex, let files = ResultFolder(place.result).writtenFiles() {
                notes = try output.putInPlace(
                    place.result,
                    as: item.name,
                    recorded: try await journal.writtenFiles(of: item.id)
                )
                try FileSystem.flush(output.path)
                // The run that replaces it has to know it as a result of the batch.
                try await journal.replaceFiles(of: item.id, by: files)
                notes += output.cleanUp(item.name)
                // Options may have changed since that its labels do not depend on.
                let isCurrent = ResultFolder(output.item(item.name)).fingerprint == edit.baseFingerprint
                end = "is in its place again" + (isCurrent ? "" : ", and is made again with the present options")
            }
            if let left = FileSystem.remove(place.folder) { throw BatchError(notRemoved: left) }
            return notes + ["\(item.name): the model's result \(end)"]
        }
    }
}

/// The edit of an item as its recipe sees it.
public struct ItemEdit: Sendable, Hashable {
    /// Where the person's map and the model's are.
    public let labels: EditedLabels
    /// The name of the person's file.
    public let file: String
    /// The copy of the person's map.
    public var map: String { labels.edited(file) }
    /// Of the file, in hexadecimal: part of the fingerprint of the item.
    public let sha256: String

    /// - Parameters:
    ///   - edit: as the journal has it.
    ///   - output: the folder of the batch.
    package init(_ edit: LabelEdit, in output: OutputFolder) {
        labels = output.editedLabels(of: edit.item)
        file = edit.file
        sha256 = edit.sha256
    }
}

extension OutputFolder {
    /// The folder of an item's edited labels.
    public func editedLabels(of name: String) -> EditedLabels { EditedLabels(folder: edits + "/" + name) }
}
