public import NocturneSystem

/// A fault of the batch itself, not of an item: it ends the run.
public struct BatchError: SystemCallError, CodedError, Sendable, CustomStringConvertible {
    /// The kind of fault; with the domain `batch` it is the code that scripts and the manual know.
    public enum Code: String, Sendable {
        /// The output folder cannot be made or written.
        case outputUnwritable
        /// The folder for work cannot be used.
        case workUnusable
        /// The disk is full, and the run is not to wait.
        case outputFull
        /// Another process is working on the batch.
        case outputInUse
        /// The folder does not exist, or has no journal of a batch.
        case notABatch
        /// A folder of the batch's own in the output folder is a link, which leads elsewhere.
        case linkInOutput
        /// The options would make results again or take them out of the batch, which was not confirmed.
        case optionsDiffer
        /// The batch is divided into shards.
        case divided
        /// The batch is not divided, or not into this shard.
        case notAShard
        /// Another version of the program, or another instruction set, would give other last bits.
        case otherArithmetic
        /// The journal holds options that this version does not know.
        case optionsUnusable
        /// The inputs have no file that is to be processed.
        case nothingMatched
        /// An input, or a file that an option names, does not exist or cannot be read.
        case inputMissing
        /// The batch has no item of that name, or none with that code.
        case unknownItem
        /// A model's package or network cannot be loaded on this machine.
        case modelUnusable
        /// The process that computes crashed several times without completing an item in between.
        case engineDied
        /// A program of the cluster, such as sbatch, is missing or has refused a request.
        case clusterRefused
        /// The system would not start the threads that were asked for.
        case threadsUnavailable
    }

    /// By which programs decide; the text is for people.
    public let code: Code
    /// Of the folder or file; empty where there is none.
    public let path: String
    /// The fact and, where there is one, the next step.
    public let detail: String
    /// The `errno` of the system call that failed; nil where none did.
    public let systemCode: Int32?

    /// - Parameters:
    ///   - code: the kind of fault.
    ///   - path: of the folder or file; empty where the detail names it.
    ///   - detail: the fact and the next step.
    ///   - systemCode: of `errno`; nil where no system call failed.
    public init(_ code: Code, path: String, detail: String, systemCode: Int32? = nil) {
        self.systemCode = systemCode
        self.code = code
        self.path = path
        self.detail = detail
    }

    /// For something in the output folder that had to be removed and stays.
    public init(notRemoved left: FileSystemError) {
        let detail = "cannot be removed: \(errnoText(left.code)). Remove it yourself, then repeat the command"
        self.init(.outputUnwritable, path: left.path, detail: detail, systemCode: left.code)
    }

    /// For an item that a batch does not have.
    /// - Parameter names: of the batch's items.
    public init(noItem name: String, in folder: String, among names: [String]) {
        // First a name that was misspelt, then one of which only a part was given.
        let meant =
            Spelling.nearest(to: name, among: names)
            ?? names.first { $0.lowercased().contains(name.lowercased()) }
        let step =
            meant.map { "Did you mean \($0)?" }
            ?? "The names of items are made of those of the inputs; the review page and batch.json list them"
        self.init(.unknownItem, path: "", detail: "there is no item \(name) in \(folder). \(step)")
    }

    /// In the domain `batch`.
    public var faultCode: FaultCode { FaultCode("batch", code.rawValue) }
    /// The path, where there is one, and the detail.
    public var description: String { path.isEmpty ? detail : "\(path): \(detail)" }
}
