import Foundation
import Glibc
import NocturneSystem
import Synchronization

/// Records what discovery is reading where it outlives the process: if a file crashes the engine, the next engine knows which
/// one.
///
/// It costs one write into the system's memory for each file, and nothing is flushed: only a power cut loses it.
public final class DiscoveryTrace: Sendable {
    /// Nil for no trace.
    private let folder: String?
    /// The file of each thread that has read something since ``end()``: threads come and go.
    private let files = Mutex<[UInt: Int32]>([:])
    private let observer = Mutex(Observer())

    /// A bare function in a lock would be wrapped once more at each access, and take memory and time without end.
    private struct Observer {
        var body: (@Sendable () -> Void)?
    }

    /// - Parameter folder: a folder for the trace alone, which is emptied; nil for no trace.
    public init(folder: String? = nil) {
        self.folder = folder
        guard let folder else { return }
        try? FileSystem.makeEmptyFolder(folder, mode: 0o700)
    }

    deinit { files.withLock { for descriptor in $0.values { close(descriptor) } } }

    /// Calls `body` whenever discovery makes progress; nil for nothing.
    package func observe(_ body: (@Sendable () -> Void)?) { observer.withLock { $0.body = body } }

    /// Discovery has come to another file or folder.
    public func moved() {
        let observer = observer.withLock { $0 }
        observer.body?()
    }

    /// The calling thread is about to read these files, and nothing else.
    public func willRead(_ paths: [String]) {
        moved()
        if let descriptor = descriptor() {
            let text = paths.joined(separator: "\0")
            let record = Array("\(text.utf8.count)\n\(text)".utf8)
            _ = record.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        }
        _ = FaultPoint.inputScan.failure(of: paths.first.map { ($0 as NSString).lastPathComponent } ?? "")
    }

    /// No thread is reading any longer: a later crash is not caused by a file.
    public func end() {
        files.withLock { files in
            for descriptor in files.values {
                ftruncate(descriptor, 0)
                close(descriptor)
            }
            files = [:]
        }
    }

    /// Removes the trace once discovery will not read anything more.
    package func remove() {
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

    /// What each thread of an engine before this one read last, without the threads that had ended.
    package static func lastRead(in folder: String) -> [[String]] {
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
