import NocturneSystem
import Synchronization

/// A progress count on one line of the terminal. Shows nothing in the first second.
final class TerminalCounter: Sendable {
    private let what: String
    private let time: any TimeSource
    private let start: Duration
    private let shown = Mutex<Duration?>(nil)

    init(_ what: String, time: any TimeSource) {
        self.what = what
        self.time = time
        start = time.monotonic
    }

    func show(_ done: Int, of all: Int) {
        let now = time.monotonic
        guard now - start > .seconds(1) else { return }
        let isDue = shown.withLock { last in
            guard last.map({ now - $0 > .milliseconds(200) }) ?? true else { return false }
            last = now
            return true
        }
        if isDue { Terminal.write("\r\u{1B}[K\(done) of \(all) \(what)") }
    }

    func clear() {
        if shown.withLock({ $0 != nil }) { Terminal.write("\r\u{1B}[K") }
    }
}
