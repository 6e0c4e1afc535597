/// The files of the page, which are part of the program.
enum PageFiles {
    static let index = PackageResources.index_html

    /// By their names in `review/`.
    static let scripts: [(name: String, bytes: [UInt8])] = [
        ("page.css", PackageResources.page_css),
        ("cards.js", PackageResources.cards_js),
        ("controls.js", PackageResources.controls_js),
        ("dom.js", PackageResources.dom_js),
        ("filter.js", PackageResources.filter_js),
        ("format.js", PackageResources.format_js),
        ("item.js", PackageResources.item_js),
        ("keys.js", PackageResources.keys_js),
        ("main.js", PackageResources.main_js),
        ("marks.js", PackageResources.marks_js),
        ("measures.js", PackageResources.measures_js),
        ("model.js", PackageResources.model_js),
        ("objects.js", PackageResources.objects_js),
        ("plots.js", PackageResources.plots_js),
        ("summary.js", PackageResources.summary_js),
        ("table.js", PackageResources.table_js),
        ("unusual.js", PackageResources.unusual_js),
        ("verdicts.js", PackageResources.verdicts_js),
        ("viewer-controls.js", PackageResources.viewer_controls_js),
        ("viewer.js", PackageResources.viewer_js),
        ("volume.js", PackageResources.volume_js),
    ]
}
