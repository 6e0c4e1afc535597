import Foundation
public import NocturneOutput
import NocturneSystem

extension Slurm {
    /// The scripts with which Slurm processes a divided batch: an array of tasks, one for each shard, and a job that merges.
    public struct Job: Sendable {
        /// The path of the program on the machines of the cluster.
        public var program: String
        /// The folder of the batch.
        public var output: OutputFolder
        /// The division, from which memory and time of a task are taken.
        public var plan: ShardPlan
        /// The numbers of the shards to be processed.
        public var shards: [Int]
        /// The most tasks at a time; nil for no limit.
        public var mostTasks: Int?
        /// Compute threads of a task.
        public var threads: Int
        /// A folder on a local disk of each machine, as the shell there expands it, such as `$TMPDIR`; nil for none.
        public var work: String?
        /// A job without a limit of tasks at a time or a work folder.
        public init(program: String, output: OutputFolder, plan: ShardPlan, shards: [Int], threads: Int) {
            self.program = program
            self.output = output
            self.plan = plan
            self.shards = shards
            self.threads = threads
        }

        /// Seconds before the end of a task at which Slurm sends the signal to start no more items.
        public static let warningSeconds = 120

        private var own: [ShardPlan.Shard] {
            let wanted = Set(shards)
            return plan.shards.filter { wanted.contains($0.number) }
        }

        /// The memory budget of a task, in MiB: what is predicted, and a little more.
        package var budgetMiB: Int { Int((Double(own.map(\.bytes).max() ?? 0) * 1.15 / 1_048_576).rounded(.up)) + 128 }

        /// What a task asks Slurm for, in MiB: also for files that are mapped or cached.
        package var memoryMiB: Int { budgetMiB + max(budgetMiB / 4, 256) }

        /// The time limit of a task in minutes: twice what is predicted, since machines differ, and a quarter of an hour.
        var minutes: Int { Int(((own.map(\.seconds).max() ?? 0) / 60 * 2).rounded(.up)) + 15 }

        /// Options of `sbatch` for the array. The path of the logs is not in the script, where a line feed would end
        /// its line, nor part of the pattern, in which Slurm replaces what follows a percent sign.
        public var options: [String] { ["--chdir=\(output.taskLogs)", "--output=%A_%a.log"] }

        /// Options of `sbatch` for the job that merges.
        /// - Parameter given: those of the user for the array. Who pays and where jobs run is the same for both; what a task needs is
        ///   not.
        public func mergeOptions(after given: [String]) -> [String] {
            let shared = ["--account", "-A", "--partition", "-p", "--qos", "-q", "--reservation", "--clusters", "-M"]
            let kept = given.indices.filter { place in
                // The value of an option may be a separate word.
                shared.contains(String(given[place].prefix { $0 != "=" }))
                    || place > 0 && shared.contains(given[place - 1])
            }
            return kept.map { given[$0] } + ["--chdir=\(output.taskLogs)", "--output=merge_%j.log"]
        }

        /// The script of the array.
        public var script: String {
            let limit = mostTasks.map { "%\($0)" } ?? ""
            var lines = [
                "#!/bin/bash",
                // All users of the cluster see it: not the name of the folder, which may be a person's.
                "#SBATCH --job-name=nocturne",
                "#SBATCH --array=\(Self.indexes(shards))\(limit)",
                "#SBATCH --requeue",
                "#SBATCH --open-mode=append",
                "#SBATCH --signal=B:USR1@\(Self.warningSeconds)",
                "#SBATCH --cpus-per-task=\(threads)",
                "#SBATCH --mem=\(memoryMiB)M",
                "#SBATCH --time=\(minutes)",
            ]
            let command = [
                ShellWord.quoted(program), "run", ShellWord.quoted(output.path),
                "--shard", Self.expanded("$SLURM_ARRAY_TASK_ID/\(plan.shards.count)"), "--requeue",
                "--threads", "\(threads)", "--memory", "\(budgetMiB)M",
            ]
            let workOptions = work.map { ["--work", Self.expanded($0)] } ?? []
            // Without a shell in between, signals reach the program.
            lines.append("exec " + (command + workOptions).joined(separator: " "))
            return lines.joined(separator: "\n") + "\n"
        }

        /// The script of the job that merges, whatever became of the tasks.
        public var mergeScript: String {
            """
            #!/bin/bash
            #SBATCH --job-name=nocturne-merge
            #SBATCH --open-mode=append
            #SBATCH --cpus-per-task=1
            #SBATCH --mem=\(1024 + plan.shards.reduce(0) { $0 + $1.items } / 2000)M
            #SBATCH --time=60
            exec \(ShellWord.quoted(program)) merge \(ShellWord.quoted(output.path))

            """
        }

        /// A word for the shell, which expands a variable at its beginning.
        package static func expanded(_ word: String) -> String {
            guard let variable = word.prefixMatch(of: /\$[A-Za-z_][A-Za-z0-9_]*/),
                ShellWord.isPlain(word[variable.range.upperBound...])
            else { return ShellWord.quoted(word) }
            return "\"\(word)\""
        }

        /// Numbers as job arrays are given them, such as "1-3,7".
        /// - Parameter numbers: in increasing order.
        package static func indexes(_ numbers: [Int]) -> String {
            var ranges: [ClosedRange<Int>] = []
            for number in numbers {
                if let last = ranges.last, last.upperBound + 1 == number {
                    ranges[ranges.count - 1] = last.lowerBound...number
                } else {
                    ranges.append(number...number)
                }
            }
            return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
                .joined(separator: ",")
        }
    }
}
