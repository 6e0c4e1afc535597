import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturnePipeline
import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

/// Finds the pictures below the inputs by their first bytes, and says of every other file why it is none.
struct PhotoDiscovery {
    /// A model that wants to see the pictures, and all that a result of it depends on.
    struct Reader {
        let id: String
        /// Package digest, engine, precision, options: what goes into the fingerprint beside the picture.
        let words: [String]
        /// The shorter side a picture must have, in pixels.
        let minimumSide: Int
    }

    let readers: [Reader]
    let limits: PhotoLimits
    let scope: ComputeScope

    private enum Look: Sendable {
        case picture(PhotoFacts, stamp: String)
        case problem(ItemProblem, stamp: String)
    }

    func run(_ request: DiscoveryRequest) throws -> Discovery {
        var walk = FileWalk(request: request, flag: scope.flag)
        try walk.run()
        let files = walk.files
        let found = Mutex([Int: Look]())
        let limits = limits
        try scope.forEach(files.count) { index in
            let look = PhotoDiscovery.look(at: files[index], limits)
            found.withLock { $0[index] = look }
        }
        let looks = found.withLock { $0 }
        var items: [DiscoveredItem] = []
        for reader in readers {
            for (index, file) in files.enumerated() {
                if let look = looks[index] { items.append(try item(file, look, reader)) }
            }
        }
        return Discovery(items: items, notes: walk.notes)
    }

    private static func look(at file: FoundFile, _ limits: PhotoLimits) -> Look {
        let stamp = stamp(file)
        do throws(PhotoError) {
            return .picture(try PhotoReader.readHeader(at: file.path, limits: limits), stamp: stamp)
        } catch {
            return .problem(error.code == .notAPicture ? .setAside(error.detail) : .refused(error.detail), stamp: stamp)
        }
    }

    private func item(_ file: FoundFile, _ look: Look, _ reader: Reader) throws -> DiscoveredItem {
        let several = readers.count > 1
        func named(_ kind: String, _ stamp: String, source: String, _ problem: ItemProblem?) -> DiscoveredItem {
            // The whole file name: a.jpg and a.jpeg are two pictures, and both keep a name that tells which.
            DiscoveredItem(
                key: "\(kind):\(file.path)" + (several ? "|\(reader.id)" : ""),
                name: several ? "\(file.fileName)@\(reader.id)" : file.fileName,
                source: source,
                path: file.path,
                fingerprint: ContentDigest.of((["nocturne 1"] + reader.words + [stamp]).joined(separator: "\n")),
                problem: problem
            )
        }
        switch look {
        case .problem(let problem, let stamp): return named("file", stamp, source: "{}", problem)
        case .picture(let facts, let stamp):
            let record = PhotoRecord(model: reader.id, path: file.path, name: file.name, facts: facts)
            var problem: ItemProblem?
            if min(facts.storedWidth, facts.storedHeight) < reader.minimumSide {
                problem = .refused(
                    "\(facts.storedWidth)×\(facts.storedHeight) pixels; \(reader.id) needs at least "
                        + "\(reader.minimumSide) on either side"
                )
            }
            return named("photo", stamp, source: try record.encoded, problem)
        }
    }

    /// What tells whether a file is still the same: name, size, time of change, and the content where it is small.
    private static func stamp(_ file: FoundFile) -> String {
        var status = stat()
        guard stat(file.path, &status) == 0 else { return "\(file.name) gone" }
        var text = "\(file.name) \(status.st_size) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
        if status.st_size <= 64 << 10, let digest = try? FileSystem.digest(file.path) {
            text += " \(digest.digest.hex)"
        }
        return text
    }
}
