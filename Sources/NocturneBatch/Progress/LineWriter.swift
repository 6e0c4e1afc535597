import Dispatch
import Glibc
import NocturneConcurrency
import NocturneOutput
import NocturneSystem
import Synchronization

/// Writes lines in order on its own queue, so that no caller waits for the reader: a terminal that was stopped, a pipe that
/// nobody empties, a slow disk.
package final class LineWriter: Sendable {
    private struct State {
        var bytes = 0
        /// Lines that were left out since the last one that was written.
        var dropped = 0
    }
    private let state = Mutex(State())
    private let queue: DispatchQueue
    private let limit: Int
    private let write: @Sendable ([UInt8]) -> Void
    private let notice: @Sendable (Int) -> [UInt8]

    /// - Parameters:
    ///   - limit: how many bytes may wait at most; lines beyond that are dropped and counted.
    ///   - notice: the line that states how many were dropped, written as soon as lines are taken again.
    ///   - write: writes one line, and may take its time.
    package init(
        name: String,
        limit: Int = .max,
        notice: @escaping @Sendable (Int) -> [UInt8] = { _ in [] },
        write: @escaping @Sendable ([UInt8]) -> Void
    ) {
        queue = DispatchQueue(label: "nocturne." + name)
        self.limit = limit
        self.notice = notice
        self.write = write
    }

    /// Bytes that wait to be written.
    package var waitingBytes: Int { state.withLock { $0.bytes } }

    /// Hands over a line. Never waits.
    package func append(_ line: [UInt8]) {
        let dropped = state.withLock { state -> Int? in
            guard state.bytes == 0 || state.bytes + line.count <= limit else {
                state.dropped += 1
                return nil
            }
            defer { state.dropped = 0 }
            state.bytes += line.count
            return state.dropped
        }
        guard let dropped else { return }
        queue.async { [self] in
            if dropped > 0 { write(notice(dropped)) }
            write(line)
            state.withLock { $0.bytes -= line.count }
        }
    }

    /// Hands over a line and waits until it is written, but only for so long. For threads that are about to end the process.
    package func write(_ line: [UInt8], within seconds: Double) {
        append(line)
        let done = DispatchSemaphore(value: 0)
        queue.async { done.signal() }
        _ = done.wait(timeout: .now() + seconds)
    }

    /// Returns once everything that was handed over is written, or nothing of it could be written for a while.
    /// - Parameter patience: nil to wait for ever. Counted by the system's clock: the reader is outside of this process.
    package func flush(patience: Duration?) async {
        let lost = state.withLock { state in
            defer { state.dropped = 0 }
            return state.dropped
        }
        if lost > 0 { queue.async { [self] in write(notice(lost)) } }
        let done = ChangeSignal()
        queue.async { done.notify() }
        var before = -1
        while done.generation == 0, waitingBytes != before {
            before = waitingBytes
            do { try await done.wait(after: 0, atMost: patience, SystemTime()) } catch { return }
        }
    }
}

extension LineWriter {
    /// The number of bytes that may wait for the reader of standard output or error.
    private static let terminalLimit = 1 << 20

    /// Lines for people.
    package static let standardError = LineWriter(
        name: "stderr",
        limit: terminalLimit,
        notice: { Array("(\(counted($0, "line")) left out, since the output was not read in time)\n".utf8) },
        write: { _ = writeAll($0, to: 2) }
    )

    /// Events as JSON lines.
    static let standardOutput = LineWriter(
        name: "stdout",
        limit: terminalLimit,
        notice: { count in
            let text = "\(counted(count, "line")) left out, since the output was not read in time"
            var event = BatchEvent(.note, reason: text)
            event.time = SystemTime().wallClock.timestamp
            return (try? StableJSON.encodeLine(event)) ?? []
        },
        write: { line in
            let code = writeAll(line, to: 1)
            // The reader, such as head, wants no more, or the terminal was closed.
            if ![0, EPIPE, EIO].contains(code) { fault.withLock { $0 = $0 ?? code } }
        }
    )

    private static let fault = Mutex<Int32?>(nil)

    /// The system's code where events could not be written to standard output, as on a full disk.
    package static var standardOutputFault: Int32? { fault.withLock { $0 } }

    /// Writes all bytes, and waits for the reader. What cannot be written is lost.
    /// - Returns: the system's code; 0 where all was written.
    package static func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
        bytes.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                let written = Glibc.write(descriptor, bytes.baseAddress! + offset, bytes.count - offset)
                if written < 0 && errno == EAGAIN {
                    // Somebody made the descriptor non-blocking, for all who share it.
                    var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    _ = Glibc.poll(&poll, 1, -1)
                    continue
                }
                if written < 0 && errno == EINTR { continue }
                guard written > 0 else { return written < 0 ? errno : EIO }
                offset += written
            }
            return 0
        }
    }
}
