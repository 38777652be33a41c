from pgvector.django import VectorExtension

from django.db import migrations


class Migration(migrations.Migration):
    """pgvector. On the embedded server the starter has put it into template1 already."""

    initial = True
    dependencies = []
    operations = [VectorExtension()]
