import Foundation
import NocturneBatch
import NocturneSystem

/// The manifest of an indexed Job of Kubernetes that processes a divided batch. Retries of single indexes are on by default since
/// version 1.29 of Kubernetes, and stable since 1.33.
public struct KubernetesJob: Sendable {
    private let output: OutputFolder
    private let plan: ShardPlan
    private let image: String
    private let threads: Int
    private let mostTasks: Int?
    private let memoryMiB: Int
    /// Where the pod's own disk is mounted, for results in work; nil for none.
    private let work: String?

    /// - Parameters:
    ///   - image: of the container, with the program.
    ///   - mostTasks: at a time; nil for eight.
    public init(_ job: SlurmJob, image: String) {
        output = job.output
        plan = job.plan
        threads = job.threads
        mostTasks = job.mostTasks
        work = job.work
        memoryMiB = job.memoryMiB
        self.image = image
    }

    /// The manifest as YAML. It names a persistent volume claim for each folder: rename them to those of the cluster.
    /// - Parameter inputs: the folders of the inputs and models, which are mounted to be read only.
    public func manifest(inputs: [String]) -> String {
        let folders = [output.path] + inputs.filter { $0 != output.path }
        let names = folders.indices.map { $0 == 0 ? "nocturne-output" : "nocturne-input-\($0)" }
        var mounts = zip(names, folders).enumerated().map { place, mount in
            "            - {name: \(mount.0), mountPath: \(Self.quoted(mount.1)), readOnly: \(place > 0)}"
        }
        var volumes = names.map { "        - {name: \($0), persistentVolumeClaim: {claimName: \($0)}}" }
        if let work {
            mounts.append("            - {name: nocturne-work, mountPath: \(Self.quoted(work))}")
            volumes.append("        - {name: nocturne-work, emptyDir: {}}")
        }
        var command = [
            "nocturne", "run", output.path, "--shard", "auto", "--failed-items-ok", "--threads", "\(threads)",
        ]
        if let work { command += ["--work", work] }
        let count = plan.shards.count
        return """
            # Processes the shards of \(Self.quoted(output.path)). Afterwards: nocturne merge
            apiVersion: batch/v1
            kind: Job
            metadata:
              name: nocturne
            spec:
              completions: \(count)
              parallelism: \(min(mostTasks ?? 8, count))
              completionMode: Indexed
              backoffLimitPerIndex: 5
              # A shard that fails never stops the others.
              maxFailedIndexes: \(count)
              podFailurePolicy:
                rules:
                # Nodes that are drained and pods that are evicted do not count.
                - {action: Ignore, onPodConditions: [{type: DisruptionTarget, status: "True"}]}
                # Mistakes in the command do not go away by themselves.
                - {action: FailIndex, onExitCodes: {containerName: nocturne, operator: In, values: [2, 4]}}
              template:
                spec:
                  restartPolicy: Never
                  terminationGracePeriodSeconds: 60
                  containers:
                  - name: nocturne
                    image: \(Self.quoted(image))
                    command: [\(command.map(Self.quoted).joined(separator: ", "))]
                    resources:
                      requests: {cpu: "\(threads)", memory: \(memoryMiB)Mi}
                      limits: {memory: \(memoryMiB)Mi}
                    volumeMounts:
            \(mounts.joined(separator: "\n"))
                  volumes:
            \(volumes.joined(separator: "\n"))

            """
    }

    /// A JSON string, which is one of YAML too.
    private static func quoted(_ text: String) -> String {
        guard let line = try? StableJSON.encodeLine(text) else { return "\"\"" }
        return String(decoding: line.dropLast(), as: UTF8.self)
    }
}
