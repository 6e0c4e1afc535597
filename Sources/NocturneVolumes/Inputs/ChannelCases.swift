import NocturneCore
import NocturneInference
import NocturneJournal
import NocturneOutput
import NocturneSystem
import Synchronization

/// Groups files into the cases of a model by nnU-Net's convention: `<case>_0000.nii.gz`, `<case>_0001.nii.gz` and so on
/// for its channels, in one folder.
struct ChannelCases {
    let model: ModelPackage
    /// Whether each volume of a time series is a case of a model with one channel.
    let takesTimeSeries: Bool

    private var wanted: Int { model.channels.count }
    private var channelNames: String { model.channels.map(\.name).joined(separator: ", ") }

    /// A file named by the convention.
    private struct Channel {
        let index: Int
        let volume: FoundVolume
    }

    /// - Parameter found: volumes in order, with all channels of each case among them.
    func cases(_ found: [FoundVolume]) -> [FoundVolume] {
        let found = wanted > 1 ? found.compactMap(wholeFile) : found.filter { !$0.isSibling }
        let channels = Dictionary(grouping: found.filter { Self.split($0) != nil }) { Self.split($0)?.path ?? "" }
        var seen: Set<String> = []
        return found.flatMap { volume -> [FoundVolume] in
            guard let (path, _) = Self.split(volume) else { return withoutChannels(volume) }
            guard seen.insert(path).inserted else { return [] }
            let members = (channels[path] ?? []).map { Channel(index: Self.split($0)?.index ?? 0, volume: $0) }
                .sorted { $0.index < $1.index }
            return wanted == 1 ? singleChannelCases(members, path) : [multiChannelCase(members, path)]
        }
    }

    /// A volume that is not named by the convention.
    private func withoutChannels(_ volume: FoundVolume) -> [FoundVolume] {
        if wanted > 1 { return [withoutNumber(volume)] }
        return takesTimeSeries ? [volume] : [wholeFile(volume)].compactMap(\.self)
    }

    /// In the place of the volumes of a time series, the refusal of its file; nil for all but the first of them.
    private func wholeFile(_ volume: FoundVolume) -> FoundVolume? {
        guard let time = volume.timePoint else { return volume }
        return time.index == 0 ? timeSeries(volume, count: time.count) : nil
    }

    /// What the paths of all channels of a case begin with; nil for a file that is not named by the convention.
    static func prefix(of file: FoundFile) -> String? {
        guard let (name, _) = split(FoundVolume.stem(file.fileName)) else { return nil }
        return file.folderPath + "/" + name + "_"
    }

    /// The path of the case and the number of the channel.
    private static func split(_ volume: FoundVolume) -> (path: String, index: Int)? {
        guard let (name, index) = split(volume.name), volume.isVolumeFile || volume.isTIFF else {
            return nil
        }
        let files = volume.files
        return files.count == 1 ? (files[0].folderPath + "/" + name, index) : nil
    }

    /// The case name and the channel number, from a base name that ends with an underscore and four digits.
    private static func split(_ stem: String) -> (name: String, index: Int)? {
        let parts = stem.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count > 1, let last = parts.last, last.utf8.count == 4,
            last.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let index = Int(last)
        else { return nil }
        let name = stem.dropLast(5)
        return name.isEmpty ? nil : (String(name), index)
    }

    /// The other files of the cases to which some files belong, in their folders: a retry list names a case by its first file.
    /// - Parameter known: files that are not looked for.
    static func siblings(of files: [FoundFile], besides known: [FoundFile], _ listing: Listing) -> [FoundFile] {
        let cases = Dictionary(files.compactMap { file in prefix(of: file).map { ($0, file) } }) { first, _ in first }
        let known = Set(known.map(\.path))
        // Folder by folder, since the listing keeps one: by prefix alone, those of nested folders alternate.
        return cases.sorted { ($0.value.folderPath, $0.key) < ($1.value.folderPath, $1.key) }.flatMap { prefix, file in
            listing.files(of: prefix, in: file.folderPath)
                .filter { !known.contains($0) && FileSystem.size($0) != nil }
                .map { file.neighbour(at: $0) }
        }
    }

    /// The files of cases in the folder that was asked for last.
    final class Listing: Sendable {
        private let last = Mutex<(folder: String, files: [String: [String]])?>(nil)

        /// - Parameter prefix: what the paths of all channels of the case begin with.
        func files(of prefix: String, in folder: String) -> [String] {
            last.withLock { last in
                if let last, last.folder == folder { return last.files[prefix] ?? [] }
                var files: [String: [String]] = [:]
                for entry in FileSystem.entries(folder.isEmpty ? "/" : folder) {
                    guard let (name, _) = ChannelCases.split(FoundVolume.stem(entry)) else { continue }
                    files["\(folder)/\(name)_", default: []].append("\(folder)/\(entry)")
                }
                last = (folder, files)
                return files[prefix] ?? []
            }
        }
    }

    private func withoutNumber(_ volume: FoundVolume) -> FoundVolume {
        guard case .success(let source) = volume.volume else { return volume }
        return refused(
            volume,
            source.format == .dicom
                ? "\(model.id) takes \(wanted) channels (\(channelNames)); a DICOM series has only one"
                : "\(model.id) takes \(wanted) channels (\(channelNames)), in files <case>_0000, <case>_0001 and so "
                    + "on; this name has no channel number"
        )
    }

    /// One refusal for all volumes of a file.
    private func timeSeries(_ first: FoundVolume, count: Int) -> FoundVolume {
        var file = first
        (file.key, file.name, file.suffix) = ("nifti:" + first.path, FoundVolume.stem(first.files[0].fileName), "")
        guard wanted > 1 else {
            let text =
                "a time series of \(count) volumes; \(model.id) takes single volumes (--time-series processes each)"
            file.volume = .failure(.refused(.discovered(.timeSeries, text: text)))
            return file
        }
        return refused(
            file,
            "\(model.id) takes \(wanted) channels (\(channelNames)), in files <case>_0000, <case>_0001 and so on; this file is "
                + "4-D with \(count) volumes: if they are its channels, write each to a separate file; a time series is "
                + "for models with one channel"
        )
    }

    /// Treats numbers as numbers of volumes, unless the files look like channels of one case: few, numbered from 0000
    /// without a gap, and all on one grid. Those would be given to the wrong model.
    private func singleChannelCases(_ channels: [Channel], _ path: String) -> [FoundVolume] {
        let volumes = channels.map(\.volume)
        let geometries = volumes.compactMap { try? $0.volume.get().geometry }
        let isCase =
            channels.map(\.index) == Array(0..<channels.count) && (2...8).contains(channels.count)
            && geometries.count == channels.count && geometries.allSatisfy { $0.matches(geometries[0]) }
        guard isCase else {
            guard volumes.count == 1, channels[0].index <= 1 else { return volumes }
            return [onlyFile(channels[0])]
        }
        let reason =
            "the case has \(channels.count) channels (0000 to \(Self.digits(channels.count - 1))), but \(model.id) takes 1 "
            + "(\(channelNames)). To use only the first, add --include '*_0000*'"
        return [merged(volumes, path, .failure(.refused(.discovered(.channels, text: reason))))]
    }

    /// The only file of a case: with the number 0000 it is its only channel, and the item gets the case's name.
    private func onlyFile(_ channel: Channel) -> FoundVolume {
        var only = channel.volume
        if channel.index == 0 {
            only.name = String(only.name.dropLast(5))
        } else if case .success(var source) = only.volume {
            let text: Sentence = "its name has the channel number 0001, and the inputs have no file 0000 next to it"
            source.notes = (source.notes ?? []) + [Note("case.firstChannelMissing", text)]
            only.volume = .success(source)
        }
        return only
    }

    private func multiChannelCase(_ channels: [Channel], _ path: String) -> FoundVolume {
        let volumes = channels.map(\.volume)
        func refusal(_ code: FaultCode, _ reason: String) -> FoundVolume {
            merged(volumes, path, .failure(.refused(.discovered(code, text: reason))))
        }
        // Before the numbers are compared: a 4-D file.
        if let refused = volumes.first(where: { $0.refusal == .channels }) {
            return merged(volumes, path, by: refused)
        }
        let missing = (0..<wanted).filter { index in !channels.contains { $0.index == index } }.map(Self.digits)
        let surplus = channels.map(\.index).filter { $0 >= wanted }.map(Self.digits)
        guard missing.isEmpty, surplus.isEmpty, channels.count == wanted else {
            var faults: [String] = []
            if !missing.isEmpty { faults.append("\(missing.joined(separator: ", ")) missing") }
            if !surplus.isEmpty { faults.append("\(surplus.joined(separator: ", ")) unexpected") }
            if channels.count > Set(channels.map(\.index)).count { faults.append("a channel number occurs twice") }
            return refusal(
                .channels,
                "\(model.id) takes \(wanted) channels (\(channelNames)): " + faults.joined(separator: "; ")
            )
        }
        var whole: VolumeSource?
        var notes: [Note] = []
        for (channel, volume) in zip(model.channels, volumes) {
            switch volume.volume {
            case .failure: return merged(volumes, path, by: volume)
            case .success(let own):
                let first = whole ?? own
                whole = first
                guard own.geometry.shape == first.geometry.shape, Self.agree(own.spacing, first.spacing) else {
                    return refusal(
                        .channelGrids,
                        "channel \(channel.name) (\(Self.marked(volume))) has \(own.geometry.shape) voxels of "
                            + "\(Self.text(own.spacing)) mm, the first has \(first.geometry.shape) of "
                            + "\(Self.text(first.spacing)) mm"
                    )
                }
                if let difference = Self.difference(own.geometry.affine, first.geometry.affine) {
                    return refusal(
                        .channelGrids,
                        "channel \(channel.name) (\(Self.marked(volume))) \(difference); "
                            + "channels of one case must lie on one grid"
                    )
                }
                let all = (own.notes ?? []) + Self.displacement(own.geometry, first.geometry)
                notes += all.map { $0.after("channel \(own: channel.name): ") }
            }
        }
        guard var whole else { return refusal(.channels, "no channel") }
        whole.notes = notes.isEmpty ? nil : notes
        return merged(volumes, path, .success(whole))
    }

    private static func marked(_ volume: FoundVolume) -> String {
        IdentifierPolicy.mark(volume.files[0].fileName)
    }

    private static func digits(_ index: Int) -> String {
        let text = String(index)
        return String(repeating: "0", count: max(0, 4 - text.count)) + text
    }

    private func merged(
        _ volumes: [FoundVolume],
        _ path: String,
        _ volume: Result<VolumeSource, ItemProblem>
    ) -> FoundVolume {
        let name = volumes[0].name.dropLast(5)
        // The channels of a TIFF have one file with the spacing.
        var images: [FoundFile] = []
        for image in volumes.flatMap(\.images) where !images.contains(where: { $0.path == image.path }) {
            images.append(image)
        }
        return FoundVolume(
            key: "case:" + path,
            name: String(name),
            path: volumes[0].path,
            files: volumes.flatMap(\.files),
            images: images,
            volume: volume,
            order: volumes[0].order,
            words: volumes[0].words
        )
    }

    /// A case with a file that cannot be used, also where no model reads it: without it the case is incomplete.
    private func merged(_ volumes: [FoundVolume], _ path: String, by unusable: FoundVolume) -> FoundVolume {
        guard case .failure(let problem) = unusable.volume else { return unusable }
        var reason = problem.reason
        reason.sentence = "\(file: Self.marked(unusable)): \(reason.sentence)"
        return merged(volumes, path, .failure(.refused(reason)))
    }

    private func refused(_ volume: FoundVolume, _ reason: String) -> FoundVolume {
        var refused = volume
        refused.volume = .failure(.refused(.discovered(.channels, text: reason)))
        return refused
    }
}

extension FoundVolume {
    /// The code of the reason why it cannot be used; nil where it can.
    fileprivate var refusal: FaultCode? {
        if case .failure(let problem) = volume { problem.reason.code } else { nil }
    }
}
