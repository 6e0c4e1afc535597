import Foundation
import NocturneOutput
public import NocturneSystem

/// Slurm, as the commands of this machine reach it.
public enum Slurm {
    /// The most tasks that an array may have; nil where Slurm does not state it.
    public static func mostTasks() -> Int? {
        guard let answer = try? call("scontrol", ["show", "config"]), answer.succeeded else { return nil }
        return mostTasks(inConfiguration: answer.output)
    }

    /// `MaxArraySize` is one more than the highest index, and indexes count from 1 here.
    package static func mostTasks(inConfiguration text: String) -> Int? {
        for line in text.split(separator: "\n") where line.hasPrefix("MaxArraySize") {
            return line.split(separator: "=").last.flatMap { Int($0.trimmingCharacters(in: .whitespaces)) }.map {
                max($0 - 1, 1)
            }
        }
        return nil
    }

    /// Submits a script. A controller that is busy or restarts is tried four more times, after 5 to 40 s.
    /// - Parameter time: for pauses between attempts.
    /// - Returns: the number of the job.
    /// - Throws: ``BatchError`` with Slurm's message; `CancellationError`.
    public static func submit(_ script: String, _ options: [String], _ time: any TimeSource) async throws -> String {
        var attempt = 0
        while true {
            let answer = try Self.call("sbatch", ["--parsable"] + options, input: script)
            if answer.succeeded {
                let line = answer.output.trimmingCharacters(in: .whitespacesAndNewlines)
                // A cluster's name may follow.
                return String(line.prefix { $0 != ";" })
            }
            guard attempt < 4, Self.mayPass(answer.errors) else { throw Self.refusal(answer.errors) }
            try await time.sleep(for: .seconds(5 << attempt))
            attempt += 1
        }
    }

    /// Asks Slurm whether and when it would start a script.
    /// - Throws: ``BatchError`` with Slurm's message.
    public static func test(_ script: String, _ options: [String]) throws -> String {
        let answer = try Self.call("sbatch", ["--test-only"] + options, input: script)
        guard answer.succeeded else { throw Self.refusal(answer.errors) }
        return (answer.errors + answer.output).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Calls a program of Slurm, with at most ten minutes for its answer. Blocks the calling thread.
    /// - Throws: ``BatchError`` when it cannot be started.
    fileprivate static func call(
        _ program: String,
        _ arguments: [String],
        input: String = ""
    ) throws(BatchError) -> (succeeded: Bool, output: String, errors: String) {
        var command = Command(program, arguments)
        (command.input, command.capturesOutput) = (input, true)
        do {
            let result = try command.run()
            let errors = result.end == .tookTooLong ? "\(program) did not answer within ten minutes" : result.errors
            return (result.end == .exited(code: 0), result.output, errors)
        } catch {
            let detail =
                error.code == ENOENT
                ? "the program \(program) is not installed on this machine. Use a machine of the cluster that has it, or process "
                    + "each shard with `nocturne run OUT --shard K/N`"
                : "the program \(program) cannot be started: \(errnoText(error.code))"
            throw BatchError(.clusterRefused, path: "", detail: detail, systemCode: error.code)
        }
    }

    /// Whether the same request may succeed later.
    package static func mayPass(_ errors: String) -> Bool {
        ["Unable to contact slurm controller", "Socket timed out", "temporarily", "Connection refused"].contains {
            errors.localizedCaseInsensitiveContains($0)
        }
    }

    private static func refusal(_ errors: String) -> BatchError {
        let text = errors.trimmingCharacters(in: .whitespacesAndNewlines)
        return BatchError(.clusterRefused, path: "", detail: "sbatch refused the job: \(text)")
    }
}

extension Slurm {
    /// The task of Slurm that this process is.
    public struct Task: Sendable, Equatable {
        /// The name of this task or job, which `scontrol` takes, such as 12_3.
        public let job: String
        /// How often it was started before.
        public let restarts: Int
        /// When it will be ended, in seconds since 1970; nil where that is not known.
        public let end: Int?

        /// A task is no longer put back into the queue after this many starts; after far fewer where it ends at once, as with a
        /// time limit in which no item can be finished.
        static let (mostRestarts, mostShortRestarts) = (50, 5)
        static let shortSeconds = 60

        /// - Parameters:
        ///   - job: array and task, such as `417_3`.
        ///   - restarts: as Slurm counts them.
        ///   - end: the end of the time limit in seconds since 1970; nil where it is not known.
        package init(job: String, restarts: Int, end: Int?) {
            self.job = job
            self.restarts = restarts
            self.end = end
        }

        /// From the environment; where it has no end (Slurm before 23.02), `scontrol` is asked.
        /// - Returns: nil outside of Slurm.
        public init?(environment: [String: String]) {
            guard let number = environment["SLURM_JOB_ID"] else { return nil }
            let job = Self.name(number, environment)
            let end = environment["SLURM_JOB_END_TIME"].flatMap { Int($0) } ?? Self.currentEnd(of: job)
            self.init(job: job, restarts: environment["SLURM_RESTART_COUNT"].flatMap { Int($0) } ?? 0, end: end)
        }

        private static func currentEnd(of job: String) -> Int? {
            guard let answer = try? Slurm.call("scontrol", ["show", "job", "-o", job]), answer.succeeded else {
                return nil
            }
            return end(inJob: answer.output)
        }

        /// One task of an array has the number of the whole array, so that the number alone may mean all of them.
        package static func name(_ number: String, _ environment: [String: String]) -> String {
            guard let array = environment["SLURM_ARRAY_JOB_ID"], let task = environment["SLURM_ARRAY_TASK_ID"] else {
                return number
            }
            return "\(array)_\(task)"
        }

        /// Reads `EndTime=2026-11-23T12:00:00`, which is in local time.
        package static func end(inJob text: String) -> Int? {
            guard let field = text.split(separator: " ").first(where: { $0.hasPrefix("EndTime=") }) else { return nil }
            let parts = field.dropFirst("EndTime=".count).split { "-T:".contains($0) }.compactMap { Int32($0) }
            guard parts.count == 6 else { return nil }
            var local = tm()
            (local.tm_year, local.tm_mon, local.tm_mday) = (parts[0] - 1900, parts[1] - 1, parts[2])
            (local.tm_hour, local.tm_min, local.tm_sec) = (parts[3], parts[4], parts[5])
            local.tm_isdst = -1
            let seconds = mktime(&local)
            return seconds > 0 ? Int(seconds) : nil
        }

        /// Reads `ExcNodeList=node1,node2`.
        package static func excludedNodes(inJob text: String) -> [String] {
            let field = text.split(separator: " ").first { $0.hasPrefix("ExcNodeList=") }
            let list = field.map { String($0.dropFirst("ExcNodeList=".count)) } ?? ""
            return list.isEmpty || list == "(null)" ? [] : [list]
        }

        /// Whether the time is so near the end of the task that no more items are started.
        /// - Parameter currentEnd: the end of the task by Slurm now; a time limit may be changed while the task is active.
        package func isNearEnd(at now: Int, currentEnd: Int?) -> Bool {
            [end, currentEnd].compactMap(\.self).contains { now >= $0 - Job.warningSeconds - 60 }
        }

        /// The same. Asks Slurm.
        public func isNearEnd(at now: Int) -> Bool { isNearEnd(at: now, currentEnd: Self.currentEnd(of: job)) }

        /// Whether a task that ended with an exit code puts itself back into the queue: items wait, and nobody has asked for the
        /// end. A task that is preempted or whose machine fails is put back by Slurm.
        /// - Parameters:
        ///   - seconds: that the task took.
        ///   - isElsewhere: whether another machine is to process it.
        public func requeues(after code: Int32, seconds: Int, at now: Int, isElsewhere: Bool = false) -> Bool {
            let isShort = seconds < Self.shortSeconds && !isElsewhere
            guard restarts < (isShort ? Self.mostShortRestarts : Self.mostRestarts) else { return false }
            switch code {
            case 75: return true
            // Ended by a signal at its time limit.
            case 143: return end.map { now >= $0 - 5 } ?? false
            default: return false
            }
        }

        /// Puts the task back into the queue. Slurm ends this process then.
        /// - Parameter node: a machine that cannot process it, and is not to get it again; nil for none.
        /// - Throws: ``BatchError`` with Slurm's message.
        public func requeue(excluding node: String?) throws {
            var commands = "requeue \(job)\n"
            if let node {
                let details = try Slurm.call("scontrol", ["show", "job", "-o", job]).output
                let nodes = (Self.excludedNodes(inJob: details) + [node]).joined(separator: ",")
                // Slurm takes it only once the task waits, which is when this process is being ended: `scontrol` has it by then.
                commands += "update JobId=\(job) ExcNodeList=\(nodes)\n"
            }
            let answer = try Slurm.call("scontrol", [], input: commands)
            guard answer.succeeded else {
                throw BatchError(.clusterRefused, path: "", detail: "scontrol requeue: \(answer.errors)")
            }
        }
    }
}
