import NocturneCore
import NocturneInference
import NocturneOutput
import NocturneSystem

/// Which labels of a reference stand for which labels of the model: a pure decision.
struct ReferenceNames {
    /// The model's value of each value of the reference; nil when both number their labels alike.
    let values: [UInt16: UInt16]?
    /// The model's values that are compared.
    let compared: [UInt16]
    let notes: [Note]

    /// Labels are matched by name. Only a reference that names no labels is matched by number, and a note states it.
    /// - Parameter names: of the reference's labels, by value; empty when it names none.
    /// - Throws: ``ReferenceFault`` when none of them is a label of the model.
    static func match(_ names: [UInt16: String], _ wanted: [ModelLabel]) throws(ReferenceFault) -> ReferenceNames {
        guard !names.isEmpty else {
            let note = Note(
                .comparedByNumber,
                "by number, since the file names no labels; make sure that both number their labels alike"
            )
            return ReferenceNames(values: nil, compared: wanted.map(\.value), notes: [note])
        }
        var places: [String: UInt16] = [:]
        for (value, name) in names.sorted(by: { $0.key < $1.key }) {
            let name = LabelName.comparable(name)
            places[name] = places[name] ?? value
        }
        let matched = wanted.compactMap { label in places[LabelName.comparable(label.name)].map { (label, $0) } }
        guard !matched.isEmpty else {
            let all = names.sorted { $0.key < $1.key }.map(\.value)
            let detail = "it names its labels \(listed(all, most: 8)); none of them is a label of the model"
            throw ReferenceFault(detail: detail)
        }
        let missing = wanted.filter { label in !matched.contains { $0.0.value == label.value } }.map(\.name)
        return ReferenceNames(
            values: Dictionary(matched.map { ($0.1, $0.0.value) }) { first, _ in first },
            compared: matched.map(\.0.value),
            notes: missing.isEmpty
                ? [] : [Note("comparison.labelsMissing", "it has no label \(own: missing.joined(separator: ", "))")]
        )
    }
}
