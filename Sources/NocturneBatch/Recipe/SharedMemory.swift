/// Memory that the items of a recipe share, in bytes.
public struct SharedMemory: Sendable {
    /// While all models are in use.
    public var bytes: Int
    /// The part of it that is free once a model has been released, by the model's id. Several models together free no less than
    /// the sum.
    public var ofModels: [String: Int] = [:]

    /// - Parameter bytes: while all models are in use.
    public init(bytes: Int = 0) { self.bytes = bytes }
}

/// The models of the recipes, by the items of a round that have not ended: what can be released, and when.
///
/// A model is unused once its last item has ended for good: an item that is tried again has not ended. Another round may need the
/// model once more; it then makes its plans and sessions again.
struct ModelsInUse: Sendable {
    /// A model that can be released.
    struct Model: Sendable {
        let id: String
        /// The index of its recipe.
        let recipe: Int
        /// What is free then.
        let bytes: Int
    }

    private var models: [Model] = []
    private var itemsLeft: [String: Int] = [:]

    /// No model is ever released.
    init() {}

    /// - Parameters:
    ///   - memory: of the recipes, in their order.
    ///   - items: how many items are to be processed, by the id of their model.
    init(_ memory: [SharedMemory], items: [String: Int]) {
        for (recipe, memory) in memory.enumerated() {
            models += memory.ofModels.map { Model(id: $0.key, recipe: recipe, bytes: $0.value) }
        }
        itemsLeft = items
    }

    mutating func itemEnded(of model: String) { itemsLeft[model, default: 0] -= 1 }

    /// Takes out a model that no item needs; nil without one, and once no items are left that its memory would be for.
    mutating func takeUnused() -> Model? {
        guard itemsLeft.values.contains(where: { $0 > 0 }),
            let index = models.firstIndex(where: { itemsLeft[$0.id, default: 0] <= 0 })
        else { return nil }
        return models.remove(at: index)
    }
}
