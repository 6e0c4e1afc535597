import Glibc
package import NocturneJournal
public import NocturneOutput

/// The inputs and filters of a batch.
public struct DiscoveryRequest: Sendable {
    /// Files and folders, as absolute paths.
    public var inputs: [String] {
        didSet { inputSet = Set(inputs) }
    }
    /// The same, of which there may be as many as items.
    private(set) var inputSet: Set<String>
    /// Shell patterns, one of which a file has to match; empty for all files. `*` also matches slashes.
    public var include: [String] = []
    /// Shell patterns of files that are left out, also of those that ``include`` names.
    public var exclude: [String] = []
    /// Folders not to be walked: the output folder.
    public var pruned: [String] = []
    /// What an input is that does not exist.
    package enum MissingInput: Sendable {
        /// An error: most likely its path is wrong.
        case refused
        /// A failed item, besides which the others are processed: in a batch that was begun before, such as with a share that is not
        /// mounted.
        case failed
        /// A note: a watch waits for what comes, and of inputs that vanish in a run the items state it. Those that it began without
        /// are failed items.
        case noted(besides: Set<String>)
    }
    package var missingInputs = MissingInput.refused
    /// Files that do not answer, which are not to be read.
    public var silent = UnresponsiveFiles(patience: nil)
    /// Is notified of files before they are read, and of those that are combined before that is done.
    public var trace = DiscoveryTrace()
    /// How items may be named, and what results may state about their sources.
    public var identifiers = IdentifierPolicy.hash
    /// How items are named; nil for the names of their files and folders.
    package var namePattern: NamePattern?

    /// All files of some inputs, without patterns.
    public init(inputs: [String]) { (self.inputs, inputSet) = (inputs, Set(inputs)) }

    /// What a batch is made of.
    package init(_ description: BatchDescription) {
        self.init(inputs: description.inputs)
        (include, exclude) = (description.include, description.exclude)
        (identifiers, namePattern) = (description.identifiers, description.namePattern)
    }

    /// Whether the include and exclude patterns admit the file.
    package func admits(_ file: FoundFile) -> Bool {
        (include.isEmpty || Self.matches(include, file)) && !excludes(file)
    }

    /// Whether the patterns of `--exclude` leave out a file or folder.
    package func excludes(_ file: FoundFile) -> Bool { Self.matches(exclude, file) }

    private static func matches(_ globs: [String], _ file: FoundFile) -> Bool {
        globs.contains { fnmatch($0, file.name, 0) == 0 || fnmatch($0, file.fileName, 0) == 0 }
    }
}
