import Foundation
public import NocturneOutput
import NocturneSystem

extension Slurm {
    /// How often the task of a shard was started, and why it did not come to its end before.
    ///
    /// Slurm counts the starts of a task and not their reasons. The program knows when it has put the task back into the queue
    /// itself; all other starts again are those of Slurm: the task was preempted, its machine failed, or a user put it back.
    public struct TaskStarts: Codable, Sendable, Equatable {
        /// Why a task puts itself back into the queue.
        public enum Reason: String, Codable, Sendable {
            case timeLimit
            /// The machine does not have the instruction set of the plan.
            case unsuitableMachine
            /// Such as a full disk, or another task that still works on the shard.
            case other
        }

        /// All starts, including the first.
        public private(set) var starts = 0
        /// Times that the task put itself back at its time limit.
        public private(set) var timeLimits = 0
        /// Times that it did so on a machine without the instruction set of the plan.
        public private(set) var unsuitableMachines = 0
        /// Times that it did so for another reason.
        public private(set) var otherEnds = 0
        /// Starts again that Slurm made.
        public private(set) var preemptions = 0
        private var job = ""
        /// Slurm's count of restarts, and whether the task has put itself back since.
        private var restarts = 0
        private var isPutBack = false

        /// A task that was never started.
        public init() {}

        /// The task begins, for the first time or again. A job that was submitted again counts from the beginning.
        public mutating func begin(_ task: Slurm.Task) {
            let array = String(task.job.prefix { $0 != "_" })
            starts += 1
            if job == array {
                let again = task.restarts - restarts - (isPutBack ? 1 : 0)
                preemptions += max(again, 0)
                // Starts that did not come so far as to be recorded.
                starts += max(task.restarts - restarts - 1, 0)
            }
            (job, restarts, isPutBack) = (array, task.restarts, false)
        }

        /// The task puts itself back into the queue.
        public mutating func putBack(_ reason: Reason) {
            isPutBack = true
            switch reason {
            case .timeLimit: timeLimits += 1
            case .unsuitableMachine: unsuitableMachines += 1
            case .other: otherEnds += 1
            }
        }

        /// The reasons for repeated starts, for messages; nil without any.
        public var text: String? {
            let reasons = [
                (timeLimits, "at the time limit"), (preemptions, "preempted, or after its machine failed"),
                (unsuitableMachines, "on a machine without the instruction set"), (otherEnds, "for other reasons"),
            ]
            let shown = reasons.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
            return shown.isEmpty ? nil : "started again: " + shown.joined(separator: ", ")
        }
    }
}

extension Slurm.TaskStarts {
    /// The sum over two shards, for the batch.
    public static func + (one: Slurm.TaskStarts, other: Slurm.TaskStarts) -> Slurm.TaskStarts {
        var sum = Slurm.TaskStarts()
        sum.starts = one.starts + other.starts
        sum.timeLimits = one.timeLimits + other.timeLimits
        sum.unsuitableMachines = one.unsuitableMachines + other.unsuitableMachines
        sum.otherEnds = one.otherEnds + other.otherEnds
        sum.preemptions = one.preemptions + other.preemptions
        return sum
    }

    /// What was recorded for a shard; nothing where no task of Slurm has worked on it.
    public static func recorded(for shard: OutputFolder) -> Slurm.TaskStarts {
        guard let bytes = try? FileSystem.read(shard.taskStarts),
            let starts = try? JSONDecoder().decode(Slurm.TaskStarts.self, from: Data(bytes))
        else { return Slurm.TaskStarts() }
        return starts
    }

    /// Changes what is recorded. A disk that refuses it does not end the task.
    public static func record(for shard: OutputFolder, _ change: (inout Slurm.TaskStarts) -> Void) {
        var starts = recorded(for: shard)
        change(&starts)
        if let bytes = try? StableJSON.encode(starts) { try? FileSystem.replace(shard.taskStarts, with: bytes) }
    }
}

extension OutputFolder {
    fileprivate var taskStarts: String { hidden + "/task-starts.json" }
}
