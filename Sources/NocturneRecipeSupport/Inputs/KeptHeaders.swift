import Synchronization

/// Headers that were read when their files were offered, until items are made of them: a bounded number, since a cohort has
/// millions of files. What was not kept is read again.
package final class KeptHeaders<Header: Sendable>: Sendable {
    private let kept = Mutex<[String: Header]>([:])
    private let most: Int

    /// - Parameter most: how many are kept; a DICOM header takes 2 KB, and reading one again 30 µs.
    package init(most: Int = 2048) { self.most = most }

    /// Whether another header would be kept.
    package var hasRoom: Bool { kept.withLock { $0.count < most } }

    /// Keeps a header, unless as many as allowed are kept: such a header is read again.
    package func keep(_ header: Header, of path: String) {
        kept.withLock { if $0.count < most { $0[path] = header } }
    }

    /// The header of a file, which is forgotten; nil if it was not kept.
    package func take(_ path: String) -> Header? { kept.withLock { $0.removeValue(forKey: path) } }
}
