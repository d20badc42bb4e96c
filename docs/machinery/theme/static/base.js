// Where the site begins, seen from the page; MkDocs' search asks for it by this name.
var base_url = ".";
