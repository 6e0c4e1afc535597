import Foundation
public import NocturneConcurrency
public import NocturneJournal
public import NocturneReport
public import NocturneSystem

/// What to do for one kind of model, as synchronous functions, one per stage.
///
/// The stages know budgets, channels, cancellation and progress; a recipe knows kidneys, books or skin. Every function
/// runs on a thread of a pool (discovering, loading and writing on one that may wait for the disk, the others on a compute
/// thread), may share loops through the context's scope, looks at its flag at least once a second, and throws an error
/// whose description names the file and the fact.
public protocol Recipe: Sendable {
    /// What the journal keeps of an item, to find its input again and to plan for it without reading pixels. Decoded once
    /// when the item is admitted.
    associatedtype Source: Codable & Sendable

    /// A search of the inputs: called once for each, before the first file is offered.
    /// - Parameter files: the files of the inputs, which are known by then.
    func claims(_ request: DiscoveryRequest, _ files: InputFiles, scope: ComputeScope) throws -> any InputClaims

    /// Remarks about the good items that this recipe has found, once they have their names, such as that an option names none
    /// of them.
    /// - Parameter items: calls its closure with the name and the source of each, in the order of discovery, until it returns
    ///   false.
    func remarks(
        on items: (_ body: (_ name: String, _ source: Source) throws -> Bool) throws -> Void
    ) throws -> [String]

    /// Memory that all items share while the batch runs: weights and the engine's workspace.
    func sharedMemory(threads: Int) throws -> SharedMemory

    /// Frees what the networks of a model make again when they run: no item that is left needs them. The sessions that the
    /// inference stage keeps have been freed.
    func release(model: String)

    /// What an item will need, from the header facts in its source.
    /// - Parameter lean: the plan with the least memory that gives the same bytes. A recipe that has only one way gives
    ///   the same plan for both.
    func plan(_ source: Source, threads: Int, lean: Bool) throws -> ItemPlan

    /// How long one step of inference takes here and now: one is run and timed.
    func secondsPerStep(scope: ComputeScope) throws -> Double

    /// How many threads each of several equal processes on a machine uses well, if they share its `cores` cores.
    func threadsOfProcess(cores: Int) throws -> Int

    /// The stages that this recipe has, in order.
    func stages(_ start: StageBuilder<Source>) -> RecipeStages<Source>

    /// Whether a folder holds a whole result of `fingerprint`, and which files belong to it: how a folder that was renamed
    /// into place but never journaled is recognised. Nil for anything else; errors of reading count as nil.
    func recognize(folder: String, fingerprint: String) throws -> ItemProduct?

    /// Whether a result in a folder, of this item with other options, has what the stages after the inference need: then it is
    /// made again without inference. Only a forecast: the stages find out for themselves. Errors of reading count as no.
    func keepsInference(_ source: Source, of folder: String) throws -> Bool

    /// Whether a label map that a person has made from the model's result in a folder still takes the place of the model's: with
    /// the present source, model and options the model would give the same labels. Errors of reading count as no.
    func keepsEdits(_ source: Source, of folder: String) throws -> Bool

    /// Writes what is about the whole batch: called at the end of a run in which something changed.
    /// - Parameters:
    ///   - folders: calls its closure with the folder of each completed item of the batch, in the order of discovery, of other
    ///     recipes too.
    ///   - output: the batch's output folder. Files are replaced in one step.
    func summarize(folders: CompletedFolders, into output: String, flag: CancellationFlag) throws
}

extension Recipe {
    /// None: a recipe without networks.
    public func sharedMemory(threads: Int) throws -> SharedMemory { SharedMemory() }

    /// The bytes of ``sharedMemory(threads:)``.
    public func sharedBytes(threads: Int) throws -> Int { try sharedMemory(threads: threads).bytes }

    /// Nothing.
    public func release(model: String) {}

    /// There is no inference.
    public func secondsPerStep(scope: ComputeScope) throws -> Double { 0 }

    /// One process with a thread for every core.
    public func threadsOfProcess(cores: Int) throws -> Int { cores }

    /// No.
    public func keepsInference(_ source: Source, of folder: String) throws -> Bool { false }

    /// Only with the same options for the whole result.
    public func keepsEdits(_ source: Source, of folder: String) throws -> Bool { false }

    /// None.
    public func remarks(
        on items: (_ body: (_ name: String, _ source: Source) throws -> Bool) throws -> Void
    ) throws -> [String] { [] }

    /// ``remarks(on:)`` about what a journal has.
    package func remarks(_ table: FoundTable, recipe index: Int) throws -> [String] {
        try remarks { body in
            try table.forEachFound(recipe: index) { name, source in try body(name, Self.source(from: source)) }
        }
    }

    /// Nothing.
    public func summarize(folders: CompletedFolders, into output: String, flag: CancellationFlag) throws {}

    /// Reads a source as the journal has it: one line of JSON.
    public static func source(from text: String) throws -> Source {
        try JSONDecoder().decode(Source.self, from: Data(text.utf8))
    }

    /// ``keepsInference(_:of:)`` for a source as the journal has it.
    package func keepsInference(source: String, of folder: String) -> Bool {
        (try? keepsInference(Self.source(from: source), of: folder)) ?? false
    }

    /// ``keepsEdits(_:of:)`` for a source as the journal has it.
    func keepsEdits(source: String, of folder: String) -> Bool {
        (try? keepsEdits(Self.source(from: source), of: folder)) ?? false
    }

    /// ``plan(_:threads:within:filesInMemory:)`` for a source as the journal has it.
    public func plan(source: String, threads: Int, within bytes: Int, filesInMemory: Bool) throws -> ItemPlan {
        try plan(Self.source(from: source), threads: threads, within: bytes, filesInMemory: filesInMemory)
    }

    /// The ordinary plan if it fits into `bytes`, else the lean one, which may not fit either.
    /// - Parameter filesInMemory: whether files in staging are memory: a lean plan saves nothing there.
    public func plan(_ source: Source, threads: Int, within bytes: Int, filesInMemory: Bool) throws -> ItemPlan {
        func plan(lean: Bool) throws -> ItemPlan {
            try self.plan(source, threads: threads, lean: lean).placingFiles(inMemory: filesInMemory)
        }
        let ordinary = try plan(lean: false)
        if ordinary.peak() <= bytes { return ordinary }
        let lean = try plan(lean: true)
        return lean.peak() < ordinary.peak() ? lean : ordinary
    }
}
