import NocturneConcurrency
import NocturneCore
import NocturneSystem

/// Decodes an item's source into memory.
actor Loader<R: Recipe> {
    private let recipe: R
    private let line: StageLine<Void, R.Loaded>

    init(recipe: R, line: StageLine<Void, R.Loaded>) {
        self.recipe = recipe
        self.line = line
    }

    func run() async {
        // Two at once: while one waits for the disk the other decodes.
        await line.run(workers: 2) { [recipe, blocking = line.surroundings.blocking] flight in
            let item = flight.item
            return try await blocking.run { try recipe.load(item.item, item.context) }
        }
    }
}

/// Brings an item into the form the network takes.
actor Preprocessor<R: Recipe> {
    private let recipe: R
    private let line: StageLine<R.Loaded, R.Prepared>

    init(recipe: R, line: StageLine<R.Loaded, R.Prepared>) {
        self.recipe = recipe
        self.line = line
    }

    func run() async {
        await line.run { [recipe, pool = line.surroundings.pool] flight in
            let item = flight.item
            return try await pool.run { try recipe.prepare(flight.payload, item.item, item.context) }
        }
    }
}

/// Runs the network over an item, tile by tile: between tiles it pauses under pressure, stops, and checkpoints.
actor TiledInference<R: Recipe> {
    private let recipe: R
    private let line: StageLine<R.Prepared, R.Inference.Inferred>

    init(recipe: R, line: StageLine<R.Prepared, R.Inference.Inferred>) {
        self.recipe = recipe
        self.line = line
    }

    func run() async {
        await line.run { [recipe, surroundings = line.surroundings] flight in
            let item = flight.item
            let pool = surroundings.pool
            // Only here: an item that waits for another one must not be the oldest that all wait for.
            let ticket = surroundings.gate.register(sequence: item.sequence)
            defer { ticket.unregister() }
            let run = try await pool.run { try recipe.startInference(flight.payload, item.item, item.context) }
            do {
                while run.stepsDone < run.stepCount {
                    try await surroundings.gate.pass(ticket)
                    try item.flag.check()
                    try FaultPoint.tile.pass()
                    try await pool.run {
                        try run.step(item.context)
                        try run.checkpoint(force: false, item.context)
                    }
                    surroundings.stalls?.moved(item.id)
                    await surroundings.progress.stepped(item.id, done: run.stepsDone, of: run.stepCount)
                }
                return try await pool.run { try run.finish(item.context) }
            } catch {
                if item.flag.isCancelled { try? run.checkpoint(force: true, item.context) }
                throw error
            }
        }
    }
}

/// Cleans and measures what the network found.
actor Postprocessor<R: Recipe> {
    private let recipe: R
    private let line: StageLine<R.Inference.Inferred, R.Finished>

    init(recipe: R, line: StageLine<R.Inference.Inferred, R.Finished>) {
        self.recipe = recipe
        self.line = line
    }

    func run() async {
        await line.run { [recipe, pool = line.surroundings.pool] flight in
            let item = flight.item
            return try await pool.run { try recipe.finish(flight.payload, item.item, item.context) }
        }
    }
}

/// Makes the surfaces.
actor Mesher<R: Recipe> {
    private let recipe: R
    private let line: StageLine<R.Finished, R.Meshed>

    init(recipe: R, line: StageLine<R.Finished, R.Meshed>) {
        self.recipe = recipe
        self.line = line
    }

    func run() async {
        await line.run { [recipe, pool = line.surroundings.pool] flight in
            let item = flight.item
            return try await pool.run { try recipe.mesh(flight.payload, item.item, item.context) }
        }
    }
}
