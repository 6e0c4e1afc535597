import Foundation
import Glibc
public import NocturneJournal
import NocturneOutput
public import NocturneSystem
import Synchronization

/// Finds files and folders that do not respond, as on a share that has lost its server, before anything depends on them: a
/// thread that hangs in a read or in a listing cannot be interrupted.
///
/// Each is tried on threads that are abandoned when that takes too long.
public final class UnresponsiveFiles: Sendable {
    /// What is asked of a path, the first first: a path that does not respond to one responds to none that comes later.
    public enum Request: Int, Comparable, Sendable {
        /// Whether it is a file or a folder.
        case status
        /// The first entry of a folder.
        case entries
        /// The first byte of a file.
        case content

        /// In the order in which they are made.
        public static func < (left: Request, right: Request) -> Bool { left.rawValue < right.rawValue }

        /// What was being done with the path, for messages.
        var verb: String {
            switch self {
            case .status: "looked for"
            case .entries: "listed"
            case .content: "read"
            }
        }
    }

    /// What is known of paths.
    private struct Findings {
        /// The requests to which paths have not responded.
        var silent: [String: Request] = [:]
        /// The hashes of paths whose content has responded: there may be a million.
        var responding: Set<Int> = []
    }

    /// Seconds that a path has to respond; nil when nothing is tried, and all count as responding.
    public let patience: Int?
    private let known = Mutex(Findings())
    /// Those that did not respond to an earlier engine.
    private let remembered: Set<String>
    /// Of files that must not be touched.
    private let reasons: [String: String]
    private let time: any TimeSource
    private let probe: @Sendable (String, Request) -> Void

    /// - Parameters:
    ///   - remembered: files and folders that are known not to respond, and are not tried.
    ///   - reasons: files that are not to be tried for other reasons.
    ///   - probe: performs a request for a path; it may never return.
    package init(
        patience: Int?,
        remembered: [String] = [],
        reasons: [String: String] = [:],
        time: any TimeSource = SystemTime(),
        probe: @escaping @Sendable (String, Request) -> Void = UnresponsiveFiles.perform
    ) {
        self.patience = patience
        self.reasons = reasons
        self.remembered = Set(remembered)
        self.time = time
        self.probe = probe
        known.withLock { known in
            for path in remembered + reasons.keys { known.silent[path] = .content }
        }
    }

    /// Why such a file is not read.
    public func reason(for path: String) -> ItemReason {
        if let reason = reasons[path] { return .discovered(.crashesReader, text: reason) }
        let verb = (silentRequest(of: path) ?? .content).verb
        // How long an engine before this one had waited is not known.
        guard let patience, !remembered.contains(path) else {
            return .discovered(.unresponsive, "did not respond when it was \(own: verb)")
        }
        return .discovered(.unresponsive, "did not respond within \(patience) s when it was \(own: verb)")
    }

    /// Whether the path may be a folder with inputs in it; its status must not be asked for, either.
    func hides(_ path: String) -> Bool {
        switch silentRequest(of: path) {
        case .status, .entries: true
        case .content, nil: false
        }
    }

    private func silentRequest(of path: String) -> Request? { known.withLock { $0.silent[path] } }

    /// The next calls try every path again, without those that still do not respond.
    package func beginAnew() { known.withLock { $0.responding = [] } }

    /// All that do not respond, sorted.
    package var paths: [String] { known.withLock { $0.silent.keys.sorted() } }

    /// Which of these paths do not respond. The content of each is tried once until ``beginAnew()``.
    public func among(
        _ paths: [String],
        _ request: Request = .content,
        flag: CancellationFlag
    ) throws(CancelledError) -> Set<String> {
        guard let patience else { return [] }
        let new = known.withLock { known in
            paths.filter { path in
                known.silent[path].map { $0 > request } ?? !known.responding.contains(path.hashValue)
            }
        }
        let attempt = ReadingAttempt(new, time: time, probe: { [probe] in probe($0, request) }) { [self] path in
            // One that was given up has responded after all.
            known.withLock { _ = $0.silent.removeValue(forKey: path) }
        }
        try attempt.run(limit: .seconds(patience), flag: flag)
        let late = attempt.late
        return known.withLock { known in
            for path in late { known.silent[path] = request }
            if request == .content {
                for path in new where !late.contains(path) {
                    known.silent[path] = nil
                    known.responding.insert(path.hashValue)
                }
            }
            return Set(paths.filter { path in known.silent[path].map { $0 <= request } ?? false })
        }
    }

    /// Asks the system. Returns when the path has responded.
    package static func perform(_ path: String, _ request: Request) {
        switch request {
        case .status:
            var status = stat()
            _ = stat(path, &status)
        case .entries:
            guard let folder = opendir(path) else { return }
            _ = readdir(folder)
            closedir(folder)
        case .content: readFirstByte(path)
        }
    }

    private static func readFirstByte(_ path: String) {
        _ = FaultPoint.inputAnswer.failure(
            of: path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
        )
        // O_NONBLOCK, since a pipe without a writer would otherwise be waited for, too.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return }
        var byte: UInt8 = 0
        _ = pread(descriptor, &byte, 1, 0)
        close(descriptor)
    }
}

/// Tries every path of a list, a few at a time.
private final class ReadingAttempt: Sendable {
    private struct State {
        var next = 0
        var ended = 0
        /// What each reader is reading, since when.
        var readers: [Int: (path: String, since: Duration)] = [:]
        var late: Set<String> = []
        var readersStarted = 0
    }

    private static let width = 4
    /// How long a raised flag may go unnoticed.
    private static let flagInterval = Duration.milliseconds(50)

    private let paths: [String]
    private let time: any TimeSource
    private let probe: @Sendable (String) -> Void
    private let respondedLate: @Sendable (String) -> Void
    private let state = Mutex(State())
    /// Signalled when the last file has ended.
    private let isDone = DispatchSemaphore(value: 0)

    init(
        _ paths: [String],
        time: any TimeSource,
        probe: @escaping @Sendable (String) -> Void,
        respondedLate: @escaping @Sendable (String) -> Void
    ) {
        self.paths = paths
        self.time = time
        self.probe = probe
        self.respondedLate = respondedLate
    }

    /// The files that were given up.
    var late: Set<String> { state.withLock { $0.late } }

    /// Returns when every file has responded or was given up. For a thread that may block.
    func run(limit: Duration, flag: CancellationFlag) throws(CancelledError) {
        guard !paths.isEmpty else { return }
        for _ in 0..<min(ReadingAttempt.width, paths.count) { startReader() }
        while isDone.wait(timeout: .now() + ReadingAttempt.flagInterval.inSeconds) == .timedOut {
            try flag.check()
            giveUp(after: limit)
        }
    }

    private func startReader() {
        let number = state.withLock { state -> Int in
            state.readersStarted += 1
            return state.readersStarted
        }
        let thread = Thread { [self] in
            ThreadRole.markMayBlock()
            while let path = take(number) {
                probe(path)
                end(path, number)
            }
        }
        thread.name = "nocturne.answers"
        thread.start()
    }

    private func take(_ reader: Int) -> String? {
        let now = time.monotonic
        return state.withLock { state in
            guard state.next < paths.count else { return nil }
            let path = paths[state.next]
            state.next += 1
            state.readers[reader] = (path, now)
            return path
        }
    }

    private func end(_ path: String, _ reader: Int) {
        let (wasGivenUp, isLast) = state.withLock { state -> (Bool, Bool) in
            guard state.readers.removeValue(forKey: reader) != nil else { return (true, false) }
            state.ended += 1
            return (false, state.ended == paths.count)
        }
        if wasGivenUp { respondedLate(path) }
        if isLast { isDone.signal() }
    }

    /// Abandons the readers that have been at one file for too long, and starts others in their place.
    private func giveUp(after limit: Duration) {
        let now = time.monotonic
        let (stuck, isLast) = state.withLock { state -> (Int, Bool) in
            let late = state.readers.filter { now - $1.since > limit }
            for (reader, entry) in late {
                state.readers[reader] = nil
                state.late.insert(entry.path)
                state.ended += 1
            }
            return (late.count, !late.isEmpty && state.ended == paths.count)
        }
        for _ in 0..<stuck { startReader() }
        if isLast { isDone.signal() }
    }
}
