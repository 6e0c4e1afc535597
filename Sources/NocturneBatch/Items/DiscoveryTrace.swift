import Foundation
import NocturneCore
import NocturneSystem
import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

/// What is looked at before there are items, written down where it outlives the process: should a file be the end of the
/// engine, the next one knows which.
///
/// Costs one write into the system's memory for each look, and nothing is flushed: only the machine's end loses it.
public final class DiscoveryTrace: Sendable {
    /// Nil for no trace.
    private let folder: String?
    /// The file of each thread that has looked at something since ``end()``: threads come and go.
    private let files = Mutex<[UInt: Int32]>([:])

    /// - Parameter folder: a folder of the trace's own, made anew; nil for no trace.
    public init(folder: String? = nil) {
        self.folder = folder
        guard let folder else { return }
        FileSystem.remove(folder)
        try? FileSystem.makeFolder(folder, mode: 0o700)
    }

    deinit { files.withLock { for descriptor in $0.values { close(descriptor) } } }

    /// The calling thread is about to look at these files, and at nothing else.
    public func look(at paths: [String]) {
        if let descriptor = descriptor() {
            let text = paths.joined(separator: "\0")
            let record = Array("\(text.utf8.count)\n\(text)".utf8)
            _ = record.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        }
        _ = FaultPoint.inputLook.failure(of: paths.first.map { ($0 as NSString).lastPathComponent } ?? "")
    }

    /// No thread looks at anything any more: what comes now is no file's doing.
    public func end() {
        files.withLock { files in
            for descriptor in files.values {
                ftruncate(descriptor, 0)
                close(descriptor)
            }
            files = [:]
        }
    }

    /// Takes it away, as nothing will be looked at any more.
    func remove() {
        end()
        if let folder { FileSystem.remove(folder) }
    }

    private func descriptor() -> Int32? {
        guard let folder else { return nil }
        return files.withLock { files -> Int32? in
            let thread = UInt(pthread_self())
            if let known = files[thread] { return known }
            let descriptor = open("\(folder)/\(files.count)", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return nil }
            files[thread] = descriptor
            return descriptor
        }
    }

    /// What the threads of an engine before this one looked at last, of those that had not ended.
    static func left(in folder: String) -> [[String]] {
        FileSystem.entries(folder).compactMap { name in
            guard let bytes = try? FileSystem.read(folder + "/" + name),
                let end = bytes.firstIndex(of: UInt8(ascii: "\n")),
                let length = Int(String(decoding: bytes[..<end], as: UTF8.self)), length > 0,
                length < bytes.count - end
            else { return nil }
            return String(decoding: bytes[(end + 1)...].prefix(length), as: UTF8.self).split(separator: "\0")
                .map(String.init)
        }
    }
}

/// Files at which engines died before there were items, in one run.
struct CrashingFiles: Codable {
    /// What the last one that died was looking at, or had just looked at: one of these it was.
    private(set) var suspects: [[String]] = []
    /// Files at which two died, and why: they are not looked at again.
    private(set) var reasons: [String: String] = [:]

    /// Takes in that an engine died while it looked at something.
    /// - Returns: whether that was a second time for any of it. What was beside the culprit by chance is not there then:
    ///   after the first time one file is looked at after the other.
    mutating func take(_ looks: [[String]], death: String) -> Bool {
        let guilty = looks.filter(suspects.contains)
        for path in guilty.flatMap({ $0 }) { reasons[path] = "the engine died twice when it was looked at: \(death)" }
        suspects = guilty.isEmpty ? looks : []
        return !guilty.isEmpty
    }
}
