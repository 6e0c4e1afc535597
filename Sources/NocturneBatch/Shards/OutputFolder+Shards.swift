import NocturneSystem

/// A batch that is divided into shards: each has a journal, a lock, requests, events and a staging folder of its own.
extension OutputFolder {
    /// The hidden folder of the whole batch.
    var batchFolder: String { path + "/.nocturne" }

    /// The folders of the shards, named by their numbers.
    public var shards: String { batchFolder + "/shards" }

    /// What the scheduler of a cluster writes about the tasks that work on shards.
    public var taskLogs: String { batchFolder + "/tasks" }

    /// The same folder for one shard.
    /// - Parameter number: counted from 1.
    public func shard(_ number: Int) -> OutputFolder {
        var folder = self
        folder.shard = number
        return folder
    }

    /// The same folder for the whole batch.
    public var whole: OutputFolder {
        var folder = self
        folder.shard = nil
        return folder
    }
}
