import Foundation
import NocturneConcurrency
import NocturneCore
public import NocturneSystem
import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

/// Files that do not answer when they are read, as on a share that is half gone: nothing that was stuck in a read can be
/// got back, so that they are found out before anything depends on them.
///
/// Each file is opened and its first byte read, on threads that are left behind where that takes too long.
public final class UnresponsiveFiles: Sendable {
    /// Seconds that a file has; nil when nothing is tried, and all count as answering.
    public let patience: Int?
    private let known = Mutex<[String: Bool]>([:])
    /// Of files that must not be touched.
    private let reasons: [String: String]
    private static let width = 4

    /// - Parameters:
    ///   - remembered: files that are silent for sure, and not to be tried.
    ///   - reasons: files that are not to be tried for other reasons.
    public init(patience: Int?, remembered: [String] = [], reasons: [String: String] = [:]) {
        self.patience = patience
        self.reasons = reasons
        known.withLock { for path in remembered + reasons.keys { $0[path] = true } }
    }

    /// What there is to say of such a file.
    public func words(of path: String) -> String {
        reasons[path] ?? "did not answer for \(patience ?? 0) s when it was read"
    }

    /// The next look tries every file again but those that are still silent.
    func beginAnew() { known.withLock { known in known = known.filter(\.value) } }

    /// What was given up has answered after all.
    private func answered(_ path: String) { known.withLock { _ = $0.removeValue(forKey: path) } }

    /// All that were found silent, sorted.
    var paths: [String] { known.withLock { $0.filter(\.value).keys.sorted() } }

    /// Which of these files are silent. Each is tried once until ``beginAnew()``.
    public func among(_ paths: [String], flag: CancellationFlag) throws(CancelledError) -> Set<String> {
        guard let patience else { return [] }
        let new = known.withLock { known in paths.filter { known[$0] == nil } }
        let attempt = Attempt(new, answeredLate: { [self] in answered($0) })
        for _ in 0..<min(UnresponsiveFiles.width, new.count) { attempt.startReader() }
        while !attempt.isDone {
            try flag.check()
            attempt.giveUp(after: .seconds(patience))
            usleep(2000)
        }
        let silent = attempt.silent
        known.withLock { known in for path in new { known[path] = silent.contains(path) } }
        return known.withLock { known in Set(paths.filter { known[$0] == true }) }
    }

    /// One go over a list of files.
    private final class Attempt: Sendable {
        private struct State {
            var next = 0
            var ended = 0
            /// What each reader is at, since when.
            var readers: [Int: (path: String, since: ContinuousClock.Instant)] = [:]
            var silent: Set<String> = []
            var readersEver = 0
        }

        private let paths: [String]
        private let answeredLate: @Sendable (String) -> Void
        private let state = Mutex(State())

        init(_ paths: [String], answeredLate: @escaping @Sendable (String) -> Void) {
            self.paths = paths
            self.answeredLate = answeredLate
        }

        var isDone: Bool { state.withLock { $0.ended == paths.count } }
        var silent: Set<String> { state.withLock { $0.silent } }

        func startReader() {
            let number = state.withLock { state -> Int in
                state.readersEver += 1
                return state.readersEver
            }
            let thread = Thread { [self] in while let path = take(number) { read(path, number) } }
            thread.name = "nocturne.answers"
            thread.start()
        }

        private func take(_ reader: Int) -> String? {
            state.withLock { state in
                guard state.next < paths.count else { return nil }
                let path = paths[state.next]
                state.next += 1
                state.readers[reader] = (path, .now)
                return path
            }
        }

        private func read(_ path: String, _ reader: Int) {
            _ = FaultPoint.inputAnswer.failure(
                of: path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
            )
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            if descriptor >= 0 {
                var byte: UInt8 = 0
                _ = pread(descriptor, &byte, 1, 0)
                close(descriptor)
            }
            // A reader that was given up no longer counts.
            let wasGivenUp = state.withLock { state in
                guard state.readers.removeValue(forKey: reader) == nil else {
                    state.ended += 1
                    return false
                }
                return true
            }
            if wasGivenUp { answeredLate(path) }
        }

        /// Leaves behind whoever has been at one file for too long, and starts others in their place.
        func giveUp(after limit: Duration) {
            let stuck = state.withLock { state -> Int in
                let late = state.readers.filter { ContinuousClock.now - $1.since > limit }
                for (reader, entry) in late {
                    state.readers[reader] = nil
                    state.silent.insert(entry.path)
                    state.ended += 1
                }
                return late.count
            }
            for _ in 0..<stuck { startReader() }
        }
    }
}
